#pragma once

#include <functional>
#include <vector>

#include "server/contract/operations.h"
#include "server/request/exchange.h"

namespace reeve::server {

using Next = std::function<void()>;

// A rule that requests pass before they are performed. Calls `next` if the request may continue, now or later;
// otherwise answers it or throws base::Error.
using Step = std::function<void(const SharedExchange& exchange, const Operation& operation, const Next& next)>;

// Performs requests by a table of operations: finds the operation, applies the steps in order, calls the handler, and
// turns errors into responses.
class Api {
 public:
  // `operations` must outlive it.
  Api(const std::vector<Operation>& operations, std::vector<Step> steps);

  void serve(const SharedExchange& exchange) const;

 private:
  // The operation for the request, with what its path matched stored in `exchange`; null if a response was already
  // sent.
  const Operation* find(const SharedExchange& exchange) const;
  // Applies the steps from the given one on.
  void proceed(const SharedExchange& exchange, const Operation& operation, std::size_t step) const;

  const std::vector<Operation>& operations_;
  std::vector<Step> steps_;
};

}  // namespace reeve::server
