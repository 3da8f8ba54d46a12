#include "server/run_socket/tool_calls.h"

#include <utility>

#include <fmt/format.h>

#include "json/decode.h"
#include "json/describe.h"
#include "runtime/gate/call_gate.h"
#include "runtime/tools/tool_host.h"
#include "server/request/exchange.h"
#include "server/request/long_poll.h"
#include "wire/tool_call.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using wire::CallReply;

base::RunId own_run(const SharedExchange& exchange) { return exchange->run_socket.value(); }

template <class T>
T read_body(const SharedExchange& exchange) {
  auto body = json::from_value<T>(exchange->body());
  if (!body) throw Error(ErrorCode::call_bad_request, body.error());
  return std::move(*body);
}

// Reeve's id of a call or the agent's own, which may contain slashes.
const std::string& own_call(const SharedExchange& exchange) { return exchange->parts.at(0); }

runtime::CallGate::Done send_reply(const SharedExchange& exchange) {
  return [exchange](std::expected<CallReply, Error> reply) {
    if (!reply) return exchange->refuse(reply.error());
    exchange->send(200, json::to_value(*reply));
  };
}

void ask(SharedExchange exchange) {
  exchange->daemon.call_gate().ask(own_run(exchange), read_body<wire::CallRequest>(exchange), send_reply(exchange));
}

// Until the call is answered, or the time is over: then `wait`.
void wait_for(const SharedExchange& exchange, const std::string& call, base::ApprovalId approval,
              base::Milliseconds timeout) {
  const auto read = [exchange, call] {
    exchange->go_on([&] { exchange->daemon.call_gate().read(own_run(exchange), call, send_reply(exchange)); });
  };
  const auto poll = LongPoll::begin(exchange->daemon.loop(), *exchange->responder);
  poll->expire_after(timeout, read);
  // Reads the approval again after subscribing.
  poll->keep(exchange->daemon.approvals().wait(
      approval, poll->once([read](const std::expected<model::Approval, Error>&) { read(); })));
}

void wait(SharedExchange exchange) {
  const base::Milliseconds timeout = parse_poll_timeout(exchange->request);
  const std::string call = own_call(exchange);
  exchange->daemon.call_gate().read(
      own_run(exchange), call, [exchange, call, timeout](std::expected<CallReply, Error> reply) {
        if (!reply) return exchange->refuse(reply.error());
        const bool waits = reply->decision == wire::CallReplyDecision::wait && reply->approval_id;
        if (!waits) return exchange->send(200, json::to_value(*reply));
        wait_for(exchange, call, *reply->approval_id, timeout);
      });
}

void report(SharedExchange exchange) {
  exchange->daemon.call_gate().report(own_run(exchange), own_call(exchange), read_body<wire::CallReport>(exchange),
                                      send_reply(exchange));
}

void withdraw(SharedExchange exchange) {
  exchange->daemon.call_gate().withdraw(own_run(exchange), own_call(exchange), send_reply(exchange));
}

void note_session(SharedExchange exchange) {
  exchange->daemon.call_gate().note_session(own_run(exchange), read_body<wire::SessionReport>(exchange),
                                            [exchange](const std::optional<Error>& error) {
                                              if (error) return exchange->refuse(*error);
                                              exchange->send(202, Value::object());
                                            });
}

// The last session of the run, with its totals: what an agent that starts again continues.
void show_session(SharedExchange exchange) {
  const base::RunId run = own_run(exchange);
  exchange->daemon.queries().find_last_session(
      run, [exchange, run](const std::expected<std::optional<model::AgentSession>, Error>& session) {
        if (!session) return exchange->refuse(session.error());
        if (!*session) {
          return exchange->refuse(
              Error(ErrorCode::session_not_found, fmt::format("no session of {} was reported", run.text())));
        }
        exchange->send(200, json::to_value(**session));
      });
}

void list_tools(SharedExchange exchange) {
  Value document = Value::object();
  document.set("items", json::to_value(runtime::hosted_tools()));
  exchange->send(200, document);
}

// What the agent may know about its work.
void show_context(SharedExchange exchange) {
  const runtime::LiveRun* live = exchange->daemon.supervisor().find(own_run(exchange));
  if (live == nullptr) throw Error(ErrorCode::run_not_running, fmt::format("{} has ended", own_run(exchange).text()));
  const runtime::RunPlan& plan = live->plan();
  const model::Run& run = live->record();
  const auto text = [](const auto& id) { return id ? Value::string(id->text()) : Value(); };
  Value document = Value::object();
  document.set("run", Value::string(run.tool_run_id.text()));
  document.set("attempt", Value::integer(run.attempt));
  document.set("execution", text(run.execution_id));
  document.set("node", run.node_id ? Value::string(*run.node_id) : Value());
  document.set("agent", Value::string(plan.tool));
  document.set("role", plan.calls.role.empty() ? Value() : Value::string(plan.calls.role));
  document.set("project", run.project ? Value::string(run.project->path) : Value());
  document.set("folder", Value::string(plan.cwd));
  document.set("prompt", plan.prompt ? Value::string(live->hide(*plan.prompt)) : Value());
  document.set("started_at", json::to_value(run.started_at));
  exchange->send(200, document);
}

}  // namespace

std::vector<Operation> run_call_operations() {
  return {{.method = "POST", .path = "/api/tool-calls", .handle = ask},
          {.method = "GET", .path = "/api/tool-calls/{call...}/wait", .handle = wait},
          {.method = "POST", .path = "/api/tool-calls/{call...}/result", .handle = report},
          {.method = "POST", .path = "/api/tool-calls/{call...}/withdraw", .handle = withdraw},
          {.method = "POST", .path = "/api/session", .handle = note_session},
          {.method = "GET", .path = "/api/session", .handle = show_session},
          {.method = "GET", .path = "/api/tools", .handle = list_tools},
          {.method = "GET", .path = "/api/context", .handle = show_context}};
}

}  // namespace reeve::server
