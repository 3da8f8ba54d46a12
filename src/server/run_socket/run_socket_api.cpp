#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "ledger/run_questions.h"
#include "runtime/approvals/approvals.h"
#include "runtime/loop/store_task.h"
#include "runtime/output/tool_line.h"
#include "runtime/runs/resumption.h"
#include "server/access/in_run_caller.h"
#include "server/request/long_poll.h"
#include "server/run_socket/run_sockets.h"
#include "store/approvals.h"

// The API of a run's own socket. Every request here comes from a tool and concerns its own run.
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Approval;

constexpr std::int64_t max_listed = 100;
constexpr std::string_view approvals_path = "/api/approvals";

struct RunSocketRequest {
  SharedExchange exchange;
  base::RunId run;
};

runtime::LiveRun& live_run(const RunSocketRequest& call) {
  runtime::LiveRun* live = call.exchange->daemon.supervisor().find(call.run);
  if (live == nullptr) throw Error("run.not_running", fmt::format("{} has ended", call.run.text()));
  return *live;
}

template <class F>
void answer_from_store(const RunSocketRequest& call, F work) {
  runtime::ask_store(call.exchange->daemon.ledger(), call.exchange->daemon.loop(), std::move(work),
                     [exchange = call.exchange](std::expected<Value, Error> answer) {
                       if (!answer) return exchange->refuse(answer.error());
                       exchange->send(200, *answer);
                     });
}

// By Reeve's id or by the tool's own; never an approval of another run.
std::optional<Approval> find_own(store::Session& session, base::RunId run, const std::string& word) {
  if (const auto id = base::ApprovalId::parse(word)) {
    auto found = store::find_approval(session, *id);
    if (found && found->approval.tool_run_id == run) return std::move(found->approval);
  }
  for (Approval& approval : ledger::find_approvals_of(session, run, max_listed)) {
    if (approval.tool_ref == word) return std::move(approval);
  }
  return std::nullopt;
}

Approval get_own(store::Session& session, base::RunId run, const std::string& word) {
  auto found = find_own(session, run, word);
  if (!found)
    throw Error("approval.not_found", fmt::format("run {} has no approval named {}", run.text(), base::quoted(word)));
  return std::move(*found);
}

// Parses a body like a line that a tool prints.
std::optional<runtime::ToolEvent> read_event(const Value& body) {
  return runtime::LineReader().read(json::encode(body));
}

// If a tool repeats a question after a lost connection, returns the approval that the first request created.
void answer_repeated(const RunSocketRequest& call, const std::string& tool_ref, const Error& refusal) {
  answer_from_store(call, [run = call.run, tool_ref, refusal](ledger::Transaction& transaction) {
    const auto found = find_own(transaction.session(), run, tool_ref);
    if (!found || found->status != model::ApprovalStatus::pending) throw refusal;
    return json::to_value(*found);
  });
}

void ask(const RunSocketRequest& call) {
  Value body = call.exchange->body();
  body.set("event", Value::string("approval_needed"));
  const auto event = read_event(body);
  const auto* question = event ? std::get_if<runtime::Question>(&*event) : nullptr;
  if (question == nullptr) {
    throw Error(
        "api.bad_request", "the body is not a valid question",
        R"({"question": "…", "options": [{"value": "…", "label": "…"}], "default": "…", "expires_in_seconds": 60,)"
        R"( "approval_id": "…"})");
  }
  live_run(call).ask(*question, [call, tool_ref = question->tool_ref](std::expected<Approval, Error> asked) {
    if (asked) return call.exchange->send(201, json::to_value(*asked));
    if (tool_ref && asked.error().code() == "approval.one_at_a_time") {
      return answer_repeated(call, *tool_ref, asked.error());
    }
    call.exchange->refuse(asked.error());
  });
}

void report(const RunSocketRequest& call) {
  const auto event = read_event(call.exchange->body());
  const bool is_report =
      event && !std::holds_alternative<runtime::Question>(*event) && !std::holds_alternative<runtime::ToolCall>(*event);
  if (!is_report) {
    throw Error("api.bad_request", "the body is not a valid report",
                R"(heartbeat, progress, error, usage or result, as in {"event": "progress", "percent": 40})");
  }
  live_run(call).on_tool_event(*event);
  call.exchange->send(202, Value::object());
}

void show_run(const RunSocketRequest& call) { call.exchange->send(200, json::to_value(live_run(call).record())); }

void list(const RunSocketRequest& call) {
  answer_from_store(call, [run = call.run](ledger::Transaction& transaction) {
    Value document = Value::object();
    document.set("items", json::to_value(ledger::find_approvals_of(transaction.session(), run, max_listed)));
    return document;
  });
}

void show_decisions(const RunSocketRequest& call) {
  answer_from_store(call, [run = call.run](ledger::Transaction& transaction) {
    return runtime::describe_decisions(ledger::find_approvals_of(transaction.session(), run, max_listed));
  });
}

void show(const RunSocketRequest& call, const std::string& word) {
  answer_from_store(call, [run = call.run, word](ledger::Transaction& transaction) {
    return json::to_value(get_own(transaction.session(), run, word));
  });
}

// Records that the tool received the answer, if it still runs.
void note_read(const RunSocketRequest& call, const Approval& approval) {
  runtime::LiveRun* live = call.exchange->daemon.supervisor().find(call.run);
  if (live != nullptr) live->on_answer_read(approval);
}

// The response is the decision, so the tool has read it.
void send_decided(const RunSocketRequest& call, const Approval& approval) {
  note_read(call, approval);
  call.exchange->send(200, json::to_value(approval));
}

void wait_for(const RunSocketRequest& call, base::ApprovalId id, base::Milliseconds timeout) {
  const auto poll = LongPoll::begin(call.exchange->daemon.loop(), *call.exchange->responder);
  poll->expire_after(timeout, [call, id] { show(call, id.text()); });
  // Reads the approval again after subscribing.
  poll->keep(call.exchange->daemon.approvals().wait(id, poll->once([call](std::expected<Approval, Error> approval) {
    if (!approval) return call.exchange->refuse(approval.error());
    send_decided(call, *approval);
  })));
}

void wait(const RunSocketRequest& call, const std::string& word) {
  const base::Milliseconds timeout = parse_poll_timeout(call.exchange->request);
  runtime::ask_store(
      call.exchange->daemon.ledger(), call.exchange->daemon.loop(),
      [run = call.run, word](ledger::Transaction& transaction) { return get_own(transaction.session(), run, word); },
      [call, timeout](std::expected<Approval, Error> approval) {
        if (!approval) return call.exchange->refuse(approval.error());
        if (is_final(approval->status)) return send_decided(call, *approval);
        wait_for(call, approval->approval_id, timeout);
      });
}

bool is_decision(std::string_view path) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"/approve", "/reject", "/decide", "/input"},
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

// False if a run may not send this request.
bool answer(const RunSocketRequest& call) {
  const std::string& method = call.exchange->request.method;
  std::string_view path = call.exchange->request.path;
  const bool is_get = method == "GET";
  if (method == "POST") {
    if (path == approvals_path) return ask(call), true;
    if (path == "/api/report") return report(call), true;
  }
  if (!is_get) return false;
  if (path == "/api/run") return show_run(call), true;
  if (path == "/api/decisions") return show_decisions(call), true;
  if (path == approvals_path) return list(call), true;
  if (!path.starts_with(approvals_path) || path[approvals_path.size()] != '/') return false;
  path.remove_prefix(approvals_path.size() + 1);
  constexpr std::string_view wait_word = "/wait";
  if (path.empty() || !path.ends_with(wait_word)) return show(call, std::string(path)), true;
  path.remove_suffix(wait_word.size());
  return wait(call, std::string(path)), true;
}

}  // namespace

void handle_run_socket_request(runtime::Daemon& daemon, PendingRequests& pending, base::RunId run, Request request,
                               std::shared_ptr<Responder> responder) {
  const RunSocketRequest call{
      std::make_shared<Exchange>(Exchange{daemon, std::move(request), std::move(responder), {}}), run};
  const Request& asked = call.exchange->request;
  try {
    // Whatever is stored now may be lost: a question must not be acknowledged.
    if (asked.method == "POST") {
      if (const auto refusal = daemon.check_files()) throw *refusal;
    } else {
      pending.add(call.exchange);
    }
    const ledger::RequestTerms::Scope scope(call.exchange->terms);
    // The folder's permissions keep other users out; other runs of this user are rejected here.
    const auto in_run_caller = find_in_run_caller(daemon, asked.peer);
    const bool is_stranger = in_run_caller && in_run_caller->held != run;
    if (!is_stranger && answer(call)) return;
    if (is_decision(asked.path)) {
      const InRunCaller who = in_run_caller.value_or(InRunCaller{run.text(), asked.peer.pid});
      report_in_run_caller(daemon, who,
                           fmt::format("{} {} on the run socket of {}", asked.method, asked.path, run.text()));
      throw Error("approval.inside_run", fmt::format("a process inside {} cannot decide", who.run),
                  "a person must decide, with `reeve approve` outside any run");
    }
    throw Error("api.not_from_a_run",
                is_stranger ? fmt::format("this socket belongs to {}", run.text())
                            : fmt::format("a run cannot {} {}", asked.method, base::quoted(asked.path)),
                "a run can ask, report, and read its own approvals and decisions");
  } catch (const Error& error) {
    call.exchange->refuse(error);
  }
}

}  // namespace reeve::server
