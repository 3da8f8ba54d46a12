#pragma once

#include <deque>
#include <memory>

#include "server/api.h"

namespace reeve::server {

// Requests that may wait for the store: none is left without an answer because the store gives none. Lives on the loop.
class PendingRequests {
 public:
  explicit PendingRequests(runtime::Daemon& daemon) : daemon_(daemon) {}
  PendingRequests(const PendingRequests&) = delete;
  PendingRequests& operator=(const PendingRequests&) = delete;

  // Sets the terms of the request, but for those that wait by their nature: those are answered when there is something
  // to tell.
  void add(const SharedExchange& exchange);

 private:
  void look();

  struct Pending {
    std::weak_ptr<Exchange> exchange;
    base::BootTime since;
  };
  runtime::Daemon& daemon_;
  // The oldest first.
  std::deque<Pending> pending_;
  runtime::Loop::Hold timer_;
};

}  // namespace reeve::server
