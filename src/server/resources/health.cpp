#include <csignal>
#include <unistd.h>

#include "server/access/in_run_caller.h"
#include "server/access/tcp_endpoint.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// The daemon itself: health, and stopping it.
namespace reeve::server {

namespace {

using base::ErrorCode;
using base::Value;

// Whether the store can commit, and if not, why.
std::string_view spell(ledger::Ledger::Stall::Kind kind) {
  using Kind = ledger::Ledger::Stall::Kind;
  switch (kind) {
    case Kind::none:
      return "ok";
    case Kind::locked:
      return "locked";
    case Kind::unreachable:
      return "unreachable";
    case Kind::busy:
      return "busy";
  }
  return "ok";
}

// Where programs with a token can connect, or why they cannot.
void add_port(Value& document, const TcpEndpoint& endpoint) {
  if (endpoint.is_open()) document.set("port", Value::string(endpoint.url()));
  if (!endpoint.failure()) return;
  document.set("port_problem", Value::string(endpoint.failure()->message()));
  document.set("port_fix", Value::string(endpoint.failure()->fix()));
}

void health(SharedExchange exchange) {
  Value document = Value::object();
  document.set("status", Value::string("ok"));
  document.set("version", Value::string(REEVE_VERSION));
  document.set("pid", Value::integer(::getpid()));
  document.set("started_at", Value::string(base::format_time(exchange->daemon.started_at())));
  document.set("live_runs", Value::integer(static_cast<std::int64_t>(exchange->daemon.supervisor().live_runs())));
  const ledger::Ledger::Stall stall = exchange->daemon.ledger().stall();
  const auto refusal = exchange->daemon.check_files();
  document.set("store", Value::string(refusal ? "files_removed" : spell(stall.kind)));
  document.set("store_stalled_ms", Value::integer(stall.duration.count()));
  if (refusal) {
    document.set("problem", Value::string(refusal->message()));
    document.set("fix", Value::string(refusal->fix()));
  }
  // Anybody who can reach the port may ask for its health; a problem names paths of this machine.
  const bool is_owner = exchange->request.peer.entrance == Entrance::unix_socket;
  if (exchange->tcp_endpoint != nullptr && is_owner) add_port(document, *exchange->tcp_endpoint);
  exchange->send(200, document);
}

void listen(SharedExchange exchange) {
  deny_in_run_caller(exchange, "open a port");
  const Value* address = exchange->body().find("address");
  if (exchange->tcp_endpoint == nullptr || address == nullptr || address->as_string() == nullptr) {
    throw base::Error(ErrorCode::api_bad_request, "`address` is required", "such as \"127.0.0.1:7433\"");
  }
  exchange->tcp_endpoint->listen_too(*address->as_string());
  Value document = Value::object();
  document.set("url", Value::string(exchange->tcp_endpoint->url()));
  document.set("bound", Value::string(exchange->tcp_endpoint->bound()));
  exchange->send(200, document);
}

void stop(SharedExchange exchange) {
  deny_in_run_caller(exchange, "stop the daemon");
  exchange->send(202, Value::object());
  // Stops like on SIGTERM.
  ::kill(::getpid(), SIGTERM);
}

}  // namespace

std::vector<Operation> health_operations(json::Schemas& schemas) {
  const Value number = schemas.of<std::int64_t>();
  const Value record = schemas.add(
      "DaemonHealth",
      json::object_schema({{"status", json::word_schema({"ok"})},
                           {"version", json::string_schema()},
                           {"pid", number},
                           {"started_at", schemas.of<base::WallTime>()},
                           {"live_runs", number},
                           {"store", json::word_schema({"ok", "locked", "unreachable", "busy", "files_removed"})},
                           {"store_stalled_ms", number},
                           {"problem", json::string_schema()},
                           {"fix", json::string_schema()},
                           {"port", json::string_schema()},
                           {"port_problem", json::string_schema()},
                           {"port_fix", json::string_schema()}},
                          {"status", "version", "pid", "started_at", "live_runs", "store", "store_stalled_ms"}));
  return {{.method = "GET",
           .path = "/healthz",
           .handle = health,
           .name = "getHealth",
           .inside = InRunAccess::anyone,
           .summary = "Report that the daemon is alive",
           .replies = {{200, record}}},
          {.method = "POST",
           .path = "/api/daemon/listen",
           .handle = listen,
           .name = "openPort",
           .inside = InRunAccess::reported,
           .summary = "Listen on a port as well, for clients with a token",
           .scope = Scope::admin,
           .body = json::object_schema({{"address", json::string_schema()}}, {"address"}),
           .replies = {{200, json::object_schema({{"url", json::string_schema()}, {"bound", json::string_schema()}},
                                                 {"url", "bound"})}},
           .errors = {ErrorCode::approval_inside_run, ErrorCode::api_peer_gone, ErrorCode::daemon_bad_address,
                      ErrorCode::daemon_not_loopback, ErrorCode::daemon_port_in_use, ErrorCode::daemon_no_address,
                      ErrorCode::daemon_tls, ErrorCode::daemon_port_open},
           .idempotency = IdempotencyMode::memory},
          {.method = "POST",
           .path = "/api/daemon/stop",
           .handle = stop,
           .name = "stopDaemon",
           .inside = InRunAccess::reported,
           .summary = "Stop the daemon; runs continue, and the next daemon takes them over",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{202, json::object_schema({}, {})}},
           .errors = {ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory}};
}

}  // namespace reeve::server
