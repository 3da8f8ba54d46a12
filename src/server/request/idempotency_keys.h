#pragma once

#include <functional>
#include <memory>

#include "server/contract/operations.h"
#include "server/request/exchange.h"

namespace reeve::server {

// Idempotency-Key for every change (UX): the same key and request get the stored response, another request is
// `api.key_reused`, one still in progress `api.key_in_progress`. Only completed changes are remembered: a refused
// request changed nothing and may be repeated with its key. Lives on the loop.
class IdempotencyKeys {
 public:
  explicit IdempotencyKeys(runtime::Daemon& daemon);
  ~IdempotencyKeys();
  IdempotencyKeys(const IdempotencyKeys&) = delete;
  IdempotencyKeys& operator=(const IdempotencyKeys&) = delete;

  // Calls `go` if the request must be performed, otherwise answers it. Sets the exchange's key and responder. Throws
  // `api.bad_request` for an invalid key.
  void admit(const SharedExchange& exchange, IdempotencyMode idempotency, std::function<void()> go);

 private:
  struct Table;
  void admit_from_store(const SharedExchange& exchange, std::function<void()> go);
  void forget_old();

  runtime::Daemon& daemon_;
  // Shared with requests that may outlive this object.
  std::shared_ptr<Table> table_;
  base::BootTime forgotten_at_{};
};

}  // namespace reeve::server
