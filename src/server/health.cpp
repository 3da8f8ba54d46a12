#include <csignal>
#include <unistd.h>

#include "server/api.h"
#include "server/insider.h"
#include "server/serve.h"

// The daemon itself: whether it is well, and how it is asked to leave.
namespace reeve::server {

namespace {

using base::Value;

void health(SharedExchange exchange) {
  Value document = Value::object();
  document.set("status", Value::string("ok"));
  document.set("version", Value::string(REEVE_VERSION));
  document.set("pid", Value::integer(::getpid()));
  document.set("started_at", Value::string(base::format_time(exchange->daemon.started_at())));
  document.set("live_runs", Value::integer(static_cast<std::int64_t>(exchange->daemon.supervisor().live_runs())));
  exchange->send(200, document);
}

void stop(SharedExchange exchange) {
  refuse_insider(exchange, "stop the daemon");
  exchange->send(202, Value::object());
  // The same way as any other request to leave.
  ::kill(::getpid(), SIGTERM);
}

}  // namespace

std::vector<Route> daemon_routes() { return {{"GET", "/healthz", health}, {"POST", "/api/daemon/stop", stop}}; }

}  // namespace reeve::server
