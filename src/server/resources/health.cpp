#include <csignal>
#include <unistd.h>

#include "server/access/in_run_caller.h"
#include "server/routing/api.h"

// The daemon itself: health, and stopping it.
namespace reeve::server {

namespace {

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
  exchange->send(200, document);
}

void stop(SharedExchange exchange) {
  deny_in_run_caller(exchange, "stop the daemon");
  exchange->send(202, Value::object());
  // Stops like on SIGTERM.
  ::kill(::getpid(), SIGTERM);
}

}  // namespace

std::vector<Route> daemon_routes() { return {{"GET", "/healthz", health}, {"POST", "/api/daemon/stop", stop}}; }

}  // namespace reeve::server
