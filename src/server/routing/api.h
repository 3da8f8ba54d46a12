#pragma once

#include <memory>

#include "runtime/daemon.h"
#include "server/contract/operations.h"
#include "server/http/http.h"
#include "server/request/exchange.h"

namespace reeve::server {

class TcpEndpoint;

class IdempotencyKeys;
class PendingRequests;
class InRunPolicy;

// The daemon's HTTP API: finds the operation, applies the rules common to all requests
// (server/request/request_validation.h), and turns errors into responses.
class Api {
 public:
  // `contract` must outlive it.
  Api(runtime::Daemon& daemon, const Contract& contract, TcpEndpoint* tcp_endpoint);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  void handle(Request request, std::shared_ptr<Responder> responder);

 private:
  // The operation for the request, with its path segments stored in `exchange`; null if a response was already sent.
  const Operation* find(const SharedExchange& exchange) const;
  void serve(const SharedExchange& exchange, const Operation& operation);

  runtime::Daemon& daemon_;
  const Contract& contract_;
  TcpEndpoint* tcp_endpoint_;
  std::unique_ptr<IdempotencyKeys> keys_;
  std::unique_ptr<InRunPolicy> in_run_policy_;
  std::unique_ptr<PendingRequests> pending_;
};

}  // namespace reeve::server
