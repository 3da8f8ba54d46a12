#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "ledger/run_questions.h"
#include "runtime/approvals.h"
#include "runtime/resumption.h"
#include "runtime/store_task.h"
#include "runtime/tool_line.h"
#include "server/door.h"
#include "server/insider.h"
#include "store/approvals.h"

// What a run's own socket answers to. All that is asked here is a request of a tool, and about its own run.
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Approval;

constexpr std::int64_t most_listed = 100;
constexpr auto longest_wait = std::chrono::minutes(5);
constexpr std::string_view approvals_path = "/api/approvals";

struct Visit {
  SharedExchange exchange;
  base::RunId run;
};

runtime::LiveRun& live_run(const Visit& visit) {
  runtime::LiveRun* live = visit.exchange->daemon.supervisor().find(visit.run);
  if (live == nullptr) throw Error("run.not_running", fmt::format("{} is over", visit.run.text()));
  return *live;
}

template <class F>
void answer_from_store(const Visit& visit, F work) {
  runtime::ask_store(visit.exchange->daemon.ledger(), visit.exchange->daemon.loop(), std::move(work),
                     [exchange = visit.exchange](std::expected<Value, Error> answer) {
                       if (!answer) return exchange->refuse(answer.error());
                       exchange->send(200, *answer);
                     });
}

// By Reeve's id or by the tool's own; of another run there is none.
std::optional<Approval> find_own(store::Session& session, base::RunId run, const std::string& word) {
  if (const auto id = base::ApprovalId::parse(word)) {
    auto found = store::find_approval(session, *id);
    if (found && found->approval.tool_run_id == run) return std::move(found->approval);
  }
  for (Approval& approval : ledger::find_approvals_of(session, run, most_listed)) {
    if (approval.tool_ref == word) return std::move(approval);
  }
  return std::nullopt;
}

Approval get_own(store::Session& session, base::RunId run, const std::string& word) {
  auto found = find_own(session, run, word);
  if (!found) throw Error("approval.not_found", fmt::format("{} has asked no {}", run.text(), base::quoted(word)));
  return std::move(*found);
}

// A body as the line that a tool would print.
std::optional<runtime::ToolEvent> read_event(const Value& body) {
  return runtime::LineReader().read(json::encode(body));
}

// Sent again after a connection that was lost, it finds the question that it asked the first time.
void answer_repeated(const Visit& visit, const std::string& tool_ref, const Error& refusal) {
  answer_from_store(visit, [run = visit.run, tool_ref, refusal](ledger::Transaction& transaction) {
    const auto found = find_own(transaction.session(), run, tool_ref);
    if (!found || found->status != model::ApprovalStatus::pending) throw refusal;
    return json::to_value(*found);
  });
}

void ask(const Visit& visit) {
  Value body = visit.exchange->body();
  body.set("event", Value::string("approval_needed"));
  const auto event = read_event(body);
  const auto* question = event ? std::get_if<runtime::Question>(&*event) : nullptr;
  if (question == nullptr) {
    throw Error(
        "api.bad_request", "the body is no question",
        R"({"question": "…", "options": [{"value": "…", "label": "…"}], "default": "…", "expires_in_seconds": 60,)"
        R"( "approval_id": "…"})");
  }
  live_run(visit).ask(*question, [visit, tool_ref = question->tool_ref](std::expected<Approval, Error> asked) {
    if (asked) return visit.exchange->send(201, json::to_value(*asked));
    if (tool_ref && asked.error().code() == "approval.one_at_a_time") {
      return answer_repeated(visit, *tool_ref, asked.error());
    }
    visit.exchange->refuse(asked.error());
  });
}

void report(const Visit& visit) {
  const auto event = read_event(visit.exchange->body());
  const bool is_report =
      event && !std::holds_alternative<runtime::Question>(*event) && !std::holds_alternative<runtime::ToolCall>(*event);
  if (!is_report) {
    throw Error("api.bad_request", "the body is nothing that can be reported",
                R"(heartbeat, progress, error, usage or result, as in {"event": "progress", "percent": 40})");
  }
  live_run(visit).report(*event);
  visit.exchange->send(202, Value::object());
}

void show_run(const Visit& visit) { visit.exchange->send(200, json::to_value(live_run(visit).record())); }

void list(const Visit& visit) {
  answer_from_store(visit, [run = visit.run](ledger::Transaction& transaction) {
    Value document = Value::object();
    document.set("items", json::to_value(ledger::find_approvals_of(transaction.session(), run, most_listed)));
    return document;
  });
}

void show_decisions(const Visit& visit) {
  answer_from_store(visit, [run = visit.run](ledger::Transaction& transaction) {
    return runtime::describe_decisions(ledger::find_approvals_of(transaction.session(), run, most_listed));
  });
}

void show(const Visit& visit, const std::string& word) {
  answer_from_store(visit, [run = visit.run, word](ledger::Transaction& transaction) {
    return json::to_value(get_own(transaction.session(), run, word));
  });
}

// The answer has reached the tool while it lives.
void note_read(const Visit& visit, const Approval& approval) {
  runtime::LiveRun* live = visit.exchange->daemon.supervisor().find(visit.run);
  if (live != nullptr) live->note_read(approval);
}

void wait_for(const Visit& visit, base::ApprovalId id, base::Milliseconds patience) {
  struct Waiting {
    runtime::Loop::Hold over;
    runtime::Loop::Hold timer;
    bool is_over = false;
  };
  auto waiting = std::make_shared<Waiting>();
  runtime::Daemon& daemon = visit.exchange->daemon;
  // Nothing is ended from within its own call.
  const auto end = [waiting, &daemon] {
    waiting->is_over = true;
    daemon.loop().post([waiting] {
      waiting->over = {};
      waiting->timer = {};
    });
  };
  visit.exchange->responder->on_closed(end);
  waiting->timer = daemon.loop().at(daemon.loop().now() + patience, [visit, waiting, end, id] {
    if (waiting->is_over) return;
    end();
    show(visit, id.text());
  });
  waiting->over = daemon.approvals().wait(id, [visit, waiting, end](std::expected<Approval, Error> approval) {
    if (waiting->is_over) return;
    end();
    if (!approval) return visit.exchange->refuse(approval.error());
    note_read(visit, *approval);
    visit.exchange->send(200, json::to_value(*approval));
  });
}

void wait(const Visit& visit, const std::string& word) {
  auto patience = base::parse_duration(visit.exchange->query("timeout").value_or("60s"));
  if (!patience) throw Error("api.bad_request", fmt::format("`timeout` must be {}", base::duration_forms));
  patience = std::min<base::Milliseconds>(*patience, longest_wait);
  runtime::ask_store(
      visit.exchange->daemon.ledger(), visit.exchange->daemon.loop(),
      [run = visit.run, word](ledger::Transaction& transaction) { return get_own(transaction.session(), run, word); },
      [visit, patience = *patience](std::expected<Approval, Error> approval) {
        if (!approval) return visit.exchange->refuse(approval.error());
        if (is_final(approval->status)) {
          note_read(visit, *approval);
          return visit.exchange->send(200, json::to_value(*approval));
        }
        wait_for(visit, approval->approval_id, patience);
      });
}

bool is_decision(std::string_view path) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"/approve", "/reject", "/decide", "/input"},
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

// False for what is none of a run's business.
bool answer(const Visit& visit) {
  const std::string& method = visit.exchange->request.method;
  std::string_view path = visit.exchange->request.path;
  const bool is_get = method == "GET";
  if (method == "POST") {
    if (path == approvals_path) return ask(visit), true;
    if (path == "/api/report") return report(visit), true;
  }
  if (!is_get) return false;
  if (path == "/api/run") return show_run(visit), true;
  if (path == "/api/decisions") return show_decisions(visit), true;
  if (path == approvals_path) return list(visit), true;
  if (!path.starts_with(approvals_path) || path[approvals_path.size()] != '/') return false;
  path.remove_prefix(approvals_path.size() + 1);
  constexpr std::string_view wait_word = "/wait";
  if (path.empty() || !path.ends_with(wait_word)) return show(visit, std::string(path)), true;
  path.remove_suffix(wait_word.size());
  return wait(visit, std::string(path)), true;
}

}  // namespace

void handle_at_door(runtime::Daemon& daemon, base::RunId run, Request request, std::shared_ptr<Responder> responder) {
  const Visit visit{std::make_shared<Exchange>(Exchange{daemon, std::move(request), std::move(responder), {}}), run};
  const Request& asked = visit.exchange->request;
  try {
    // The folder keeps other users out; another run of this user is kept out here.
    const auto insider = find_insider(daemon, asked.peer);
    const bool is_stranger = insider && insider->held != run;
    if (!is_stranger && answer(visit)) return;
    if (is_decision(asked.path)) {
      const Insider who = insider.value_or(Insider{run.text(), asked.peer.pid});
      report_insider(daemon, who, fmt::format("{} {} at the door of {}", asked.method, asked.path, run.text()));
      throw Error("approval.inside_run", fmt::format("a process inside {} cannot decide", who.run),
                  "a person decides, with `reeve approve` outside any run");
    }
    throw Error("api.not_from_a_run",
                is_stranger ? fmt::format("this is the socket of {} alone", run.text())
                            : fmt::format("a run cannot {} {}", asked.method, base::quoted(asked.path)),
                "a run asks, reports, and reads its own approvals and decisions");
  } catch (const Error& error) {
    visit.exchange->refuse(error);
  }
}

}  // namespace reeve::server
