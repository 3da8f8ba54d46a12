#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "base/value.h"
#include "runtime/daemon.h"
#include "server/http/http.h"
#include "server/request/exchange.h"

// The daemon's HTTP API, one file per resource.
namespace reeve::server {

class TcpEndpoint;

struct Route {
  std::string_view method;
  // "/api/runs/*/output": a star matches one segment.
  std::string_view path;
  // May throw base::Error.
  void (*handle)(SharedExchange exchange);
};

std::vector<Route> run_routes();
std::vector<Route> approval_routes();
std::vector<Route> execution_routes();
std::vector<Route> patch_routes();
std::vector<Route> task_routes();
std::vector<Route> pipeline_routes();
std::vector<Route> audit_routes();
std::vector<Route> output_routes();
std::vector<Route> terminal_routes();
std::vector<Route> event_routes();
std::vector<Route> daemon_routes();
std::vector<Route> import_routes();
std::vector<Route> monitor_routes();
std::vector<Route> execution_view_routes();
std::vector<Route> workflow_routes();
std::vector<Route> tool_routes();
std::vector<Route> role_routes();
std::vector<Route> gate_routes();
std::vector<Route> policy_routes();
std::vector<Route> config_routes();
std::vector<Route> doctor_routes();
std::vector<Route> openapi_routes();
std::vector<Route> token_routes();
std::vector<Route> web_routes();
std::vector<Route> all_routes();

class IdempotencyKeys;
class PendingRequests;
class InRunPolicy;
struct Operation;

// Finds the route, applies the rules common to all requests (server/request/request_validation.h), and turns errors
// into responses.
class Api {
 public:
  explicit Api(runtime::Daemon& daemon, TcpEndpoint* tcp_endpoint = nullptr);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  void handle(Request request, std::shared_ptr<Responder> responder);

 private:
  struct Served {
    Route route;
    const Operation* operation = nullptr;
  };
  // The route for the request, with its path segments stored in `exchange`; null if a response was already sent.
  const Served* find(const SharedExchange& exchange) const;
  void serve(const SharedExchange& exchange, const Served& served);

  runtime::Daemon& daemon_;
  TcpEndpoint* tcp_endpoint_;
  std::vector<Served> served_;
  std::unique_ptr<IdempotencyKeys> keys_;
  std::unique_ptr<InRunPolicy> in_run_policy_;
  std::unique_ptr<PendingRequests> pending_;
};

}  // namespace reeve::server
