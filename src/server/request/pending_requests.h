#pragma once

#include <deque>
#include <memory>

#include "server/request/exchange.h"

namespace reeve::server {

// Requests that wait for the store, so that each gets a response even if the store does not answer. Lives on the loop.
class PendingRequests {
 public:
  explicit PendingRequests(runtime::Daemon& daemon) : daemon_(daemon) {}
  PendingRequests(const PendingRequests&) = delete;
  PendingRequests& operator=(const PendingRequests&) = delete;

  // Sets the terms of the request, except for requests that wait by design (streams and long polls).
  void add(const SharedExchange& exchange);

 private:
  void look();

  struct Pending {
    std::weak_ptr<Exchange> exchange;
    base::BootTime since;
  };
  runtime::Daemon& daemon_;
  // Oldest first.
  std::deque<Pending> pending_;
  runtime::Loop::Hold timer_;
};

}  // namespace reeve::server
