#include "server/run_socket/run_socket_api.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/reported_outcome.h"
#include "runtime/approvals/approvals.h"
#include "runtime/output/tool_line.h"
#include "runtime/runs/resumption.h"
#include "server/access/in_run_caller.h"
#include "server/request/long_poll.h"
#include "server/run_socket/tool_calls.h"

// The API of a run's own socket. Every request here comes from a tool and concerns its own run.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Approval;

// The run that the socket belongs to.
base::RunId own_run(const SharedExchange& exchange) { return exchange->run_socket.value(); }

runtime::LiveRun& live_run(const SharedExchange& exchange) {
  runtime::LiveRun* live = exchange->daemon.supervisor().find(own_run(exchange));
  if (live == nullptr) throw Error(ErrorCode::run_not_running, fmt::format("{} has ended", own_run(exchange).text()));
  return *live;
}

Error no_approval(base::RunId run, std::string_view name) {
  return {ErrorCode::approval_not_found,
          fmt::format("run {} has no approval named {}", run.text(), base::quoted(name))};
}

// Calls `then` with an approval of the run; the name is Reeve's id or the tool's own.
void with_approval(const SharedExchange& exchange, const std::string& name,
                   const std::function<void(const Approval&)>& then) {
  const base::RunId run = own_run(exchange);
  exchange->daemon.queries().find_approval_of(
      run, name, [exchange, run, name, then](const std::expected<std::optional<Approval>, Error>& found) {
        if (!found) return exchange->refuse(found.error());
        if (!*found) return exchange->refuse(no_approval(run, name));
        then(**found);
      });
}

// Parses a body like a line that a tool prints.
std::optional<runtime::ToolEvent> read_event(const Value& body) {
  return runtime::LineReader().read(json::encode(body));
}

// If a tool repeats a question after a lost connection, returns the approval that the first request created.
void answer_repeated(const SharedExchange& exchange, const std::string& tool_ref, const Error& refusal) {
  exchange->daemon.queries().find_approval_of(
      own_run(exchange), tool_ref, [exchange, refusal](const std::expected<std::optional<Approval>, Error>& found) {
        if (!found) return exchange->refuse(found.error());
        const std::optional<Approval>& asked = *found;
        if (!asked || asked->status != model::ApprovalStatus::pending) return exchange->refuse(refusal);
        exchange->send(200, json::to_value(*asked));
      });
}

void ask(SharedExchange exchange) {
  Value body = exchange->body();
  body.set("event", Value::string("approval_needed"));
  const auto event = read_event(body);
  const auto* question = event ? std::get_if<runtime::Question>(&*event) : nullptr;
  if (question == nullptr) {
    throw Error(
        ErrorCode::api_bad_request, "the body is not a valid question",
        R"({"question": "…", "options": [{"value": "…", "label": "…"}], "default": "…", "expires_in_seconds": 60,)"
        R"( "approval_id": "…"})");
  }
  live_run(exchange).ask(*question, [exchange, tool_ref = question->tool_ref](std::expected<Approval, Error> asked) {
    if (asked) return exchange->send(201, json::to_value(*asked));
    if (tool_ref && asked.error().is(ErrorCode::approval_one_at_a_time)) {
      return answer_repeated(exchange, *tool_ref, asked.error());
    }
    exchange->refuse(asked.error());
  });
}

// RUN-18: only here, because a line of the tool's output may quote anything.
void report_outcome(const SharedExchange& exchange) {
  auto reported = json::from_value<model::ReportedOutcome>(exchange->body());
  using enum model::Outcome;
  const bool is_known = reported && (reported->outcome == denied || reported->outcome == limited ||
                                     reported->outcome == ungated || reported->outcome == not_logged_in);
  const bool has_all = exchange->body().find("outcome") != nullptr && reported && !reported->reason.empty();
  if (!is_known || !has_all) {
    throw Error(ErrorCode::api_bad_request,
                reported ? "the body is not a valid outcome" : "the body is not a valid outcome: " + reported.error(),
                R"(denied, limited, ungated or not_logged_in, as in {"event": "outcome", "outcome": "limited", )"
                R"("reason": "5-hour window", "resets_at": "2026-01-31T12:00:00Z"})");
  }
  constexpr std::size_t max_reason = 1'000;
  reported->reason = base::visible(base::truncate_utf8(base::replace_invalid_utf8(reported->reason), max_reason));
  live_run(exchange).report_outcome(std::move(*reported), [exchange](const std::expected<model::Run, Error>& stored) {
    if (!stored) return exchange->refuse(stored.error());
    exchange->send(202, Value::object());
  });
}

void report(SharedExchange exchange) {
  const Value* word = exchange->body().find("event");
  if (word != nullptr && word->as_string() != nullptr && *word->as_string() == "outcome") {
    return report_outcome(exchange);
  }
  const auto event = read_event(exchange->body());
  const bool is_report =
      event && !std::holds_alternative<runtime::Question>(*event) && !std::holds_alternative<runtime::ToolCall>(*event);
  if (!is_report) {
    throw Error(ErrorCode::api_bad_request, "the body is not a valid report",
                R"(heartbeat, progress, error, usage, outcome or result, as in {"event": "progress", "percent": 40})");
  }
  live_run(exchange).on_tool_event(*event);
  exchange->send(202, Value::object());
}

void show_run(SharedExchange exchange) { exchange->send(200, json::to_value(live_run(exchange).record())); }

// Calls `describe` with the run's approvals and sends the result.
template <class Describe>
void send_approvals(const SharedExchange& exchange, Describe describe) {
  exchange->daemon.queries().list_approvals_of(
      own_run(exchange), [exchange, describe](const std::expected<std::vector<Approval>, Error>& approvals) {
        if (!approvals) return exchange->refuse(approvals.error());
        exchange->send(200, describe(*approvals));
      });
}

void list(SharedExchange exchange) {
  send_approvals(exchange, [](const std::vector<Approval>& approvals) {
    Value document = Value::object();
    document.set("items", json::to_value(approvals));
    return document;
  });
}

void show_decisions(SharedExchange exchange) { send_approvals(exchange, runtime::describe_decisions); }

void send_approval(const SharedExchange& exchange, const std::string& name) {
  with_approval(exchange, name,
                [exchange](const Approval& approval) { exchange->send(200, json::to_value(approval)); });
}

void show(SharedExchange exchange) { send_approval(exchange, exchange->parts.at(0)); }

// Records that the tool received the answer, if it still runs.
void note_read(const SharedExchange& exchange, const Approval& approval) {
  runtime::LiveRun* live = exchange->daemon.supervisor().find(own_run(exchange));
  if (live != nullptr) live->on_answer_read(approval);
}

// The response is the decision, so the tool has read it.
void send_decided(const SharedExchange& exchange, const Approval& approval) {
  note_read(exchange, approval);
  exchange->send(200, json::to_value(approval));
}

void wait_for(const SharedExchange& exchange, base::ApprovalId id, base::Milliseconds timeout) {
  const auto poll = LongPoll::begin(exchange->daemon.loop(), *exchange->responder);
  poll->expire_after(timeout, [exchange, id] { send_approval(exchange, id.text()); });
  // Reads the approval again after subscribing.
  poll->keep(exchange->daemon.approvals().wait(id, poll->once([exchange](std::expected<Approval, Error> approval) {
    if (!approval) return exchange->refuse(approval.error());
    send_decided(exchange, *approval);
  })));
}

void wait(SharedExchange exchange) {
  const base::Milliseconds timeout = parse_poll_timeout(exchange->request);
  with_approval(exchange, exchange->parts.at(0), [exchange, timeout](const Approval& approval) {
    if (is_final(approval.status)) return send_decided(exchange, approval);
    wait_for(exchange, approval.approval_id, timeout);
  });
}

bool is_decision(std::string_view path) {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"/approve", "/reject", "/decide", "/input"},
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

// The folder's permissions keep other users out of the socket; this is a process of another run of the same user.
bool is_stranger(const Exchange& exchange) {
  return exchange.in_run_caller && exchange.in_run_caller->held != exchange.run_socket;
}

void refuse(SharedExchange exchange) {
  const Request& asked = exchange->request;
  const std::string run = own_run(exchange).text();
  if (is_decision(asked.path)) {
    const InRunCaller who = exchange->in_run_caller.value_or(InRunCaller{run, asked.peer.pid});
    report_in_run_caller(exchange->daemon, who,
                         fmt::format("{} {} on the run socket of {}", asked.method, asked.path, run));
    throw Error(ErrorCode::approval_inside_run, fmt::format("a process inside {} cannot decide", who.run),
                "a person must decide, with `reeve approve` outside any run");
  }
  throw Error(ErrorCode::api_not_from_a_run,
              is_stranger(*exchange) ? fmt::format("this socket belongs to {}", run)
                                     : fmt::format("a run cannot {} {}", asked.method, base::quoted(asked.path)),
              "a run can ask, call tools, report, and read its own approvals and decisions");
}

// A tool's own names of approvals may contain slashes.
const std::vector<Operation>& operations() {
  static const std::vector<Operation> made = [] {
    // Not an alias of GET here.
    std::vector<Operation> all = {{.method = "HEAD", .path = "{path...}", .handle = refuse}};
    std::ranges::move(run_call_operations(), std::back_inserter(all));
    std::vector<Operation> rest = {{.method = "POST", .path = "/api/approvals", .handle = ask},
                                   {.method = "GET", .path = "/api/approvals", .handle = list},
                                   {.method = "GET", .path = "/api/approvals/{name...}/wait", .handle = wait},
                                   {.method = "GET", .path = "/api/approvals/{name...}", .handle = show},
                                   {.method = "GET", .path = "/api/decisions", .handle = show_decisions},
                                   {.method = "GET", .path = "/api/run", .handle = show_run},
                                   {.method = "POST", .path = "/api/report", .handle = report},
                                   {.method = any_method, .path = "{path...}", .handle = refuse}};
    std::ranges::move(rest, std::back_inserter(all));
    return all;
  }();
  return made;
}

}  // namespace

RunSocketApi::RunSocketApi(runtime::Daemon& daemon)
    : daemon_(daemon),
      pending_(daemon),
      api_(operations(),
           {std::bind_front(&RunSocketApi::limit_body, this), std::bind_front(&RunSocketApi::require_files, this),
            std::bind_front(&RunSocketApi::limit_wait_for_store, this),
            std::bind_front(&RunSocketApi::admit_peer, this)}) {}

void RunSocketApi::handle(base::RunId run, Request request, std::shared_ptr<Responder> responder) {
  const auto exchange = std::make_shared<Exchange>(Exchange{daemon_, std::move(request), std::move(responder), {}});
  exchange->run_socket = run;
  api_.serve(exchange);
}

// Only the arguments of tool calls may be long.
void RunSocketApi::limit_body(const SharedExchange& exchange, const Operation& operation, const Next& next) const {
  constexpr std::size_t most = 64UZ * 1024;
  if (operation.path != "/api/tool-calls" && exchange->request.body.size() > most) {
    throw Error(ErrorCode::http_too_large, "the body is too large", fmt::format("the limit is {} bytes", most));
  }
  next();
}

// Whatever is stored now may be lost: a question must not be acknowledged.
void RunSocketApi::require_files(const SharedExchange& exchange, const Operation& /*operation*/,
                                 const Next& next) const {
  if (exchange->request.method == "POST") {
    if (const auto refusal = daemon_.check_files()) throw *refusal;
  }
  next();
}

void RunSocketApi::limit_wait_for_store(const SharedExchange& exchange, const Operation& /*operation*/,
                                        const Next& next) {
  if (exchange->request.method != "POST") pending_.add(exchange);
  next();
}

void RunSocketApi::admit_peer(const SharedExchange& exchange, const Operation& /*operation*/, const Next& next) const {
  // The process at the other end of a connection is the one that connected, as long as it lasts; finding the run that
  // it is in takes longer than most requests.
  const std::shared_ptr<CachedPeerOrigin>& known = exchange->request.peer.peer_origin;
  if (known && known->is_looked_up) {
    exchange->in_run_caller = known->in_run_caller;
  } else {
    exchange->in_run_caller = find_in_run_caller(daemon_, exchange->request.peer);
    if (known) *known = {.is_looked_up = true, .in_run_caller = exchange->in_run_caller};
  }
  if (is_stranger(*exchange)) return refuse(exchange);
  next();
}

}  // namespace reeve::server
