#pragma once

#include <memory>

#include "server/http/http.h"
#include "server/request/pending_requests.h"
#include "server/routing/api.h"

namespace reeve::server {

// The API of the runs' own sockets (RUN-8). Every request comes from a tool and concerns its own run.
class RunSocketApi {
 public:
  explicit RunSocketApi(runtime::Daemon& daemon);
  RunSocketApi(const RunSocketApi&) = delete;
  RunSocketApi& operator=(const RunSocketApi&) = delete;

  // Handles a request on the socket of `run`.
  void handle(base::RunId run, Request request, std::shared_ptr<Responder> responder);

 private:
  void limit_body(const SharedExchange& exchange, const Operation& operation, const Next& next) const;
  void require_files(const SharedExchange& exchange, const Operation& operation, const Next& next) const;
  void limit_wait_for_store(const SharedExchange& exchange, const Operation& operation, const Next& next);
  void admit_peer(const SharedExchange& exchange, const Operation& operation, const Next& next) const;

  runtime::Daemon& daemon_;
  // Answers reads that the store does not.
  PendingRequests pending_;
  Api api_;
};

}  // namespace reeve::server
