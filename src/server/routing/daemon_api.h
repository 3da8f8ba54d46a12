#pragma once

#include <memory>

#include "server/access/in_run_policy.h"
#include "server/contract/operations.h"
#include "server/http/http.h"
#include "server/request/idempotency_keys.h"
#include "server/request/pending_requests.h"
#include "server/routing/api.h"

namespace reeve::server {

class TcpEndpoint;

// The API on the daemon's socket and port, with the rules common to all its requests
// (server/request/request_validation.h).
class DaemonApi {
 public:
  // `contract` must outlive it.
  DaemonApi(runtime::Daemon& daemon, const Contract& contract, TcpEndpoint* tcp_endpoint);
  DaemonApi(const DaemonApi&) = delete;
  DaemonApi& operator=(const DaemonApi&) = delete;

  void handle(Request request, std::shared_ptr<Responder> responder);

 private:
  std::vector<Step> make_steps();
  void require_files(const SharedExchange& exchange, const Operation& operation, const Next& next) const;
  void check_members(const SharedExchange& exchange, const Operation& operation, const Next& next) const;
  void limit_wait_for_store(const SharedExchange& exchange, const Operation& operation, const Next& next);
  void admit_in_run_caller(const SharedExchange& exchange, const Operation& operation, const Next& next);
  void admit_idempotency_key(const SharedExchange& exchange, const Operation& operation, const Next& next);

  runtime::Daemon& daemon_;
  const Contract& contract_;
  TcpEndpoint* tcp_endpoint_;
  IdempotencyKeys keys_;
  InRunPolicy in_run_policy_;
  PendingRequests pending_;
  Api api_;
};

}  // namespace reeve::server
