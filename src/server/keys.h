#pragma once

#include <functional>
#include <memory>

#include "server/api.h"
#include "server/operations.h"

namespace reeve::server {

// Idempotency-Key on whatever changes something (UX): the same key and request get the stored answer, another request
// is `api.key_reused`, one that is still worked on `api.key_in_progress`. Only what was done is remembered: what was
// refused changed nothing, and may be sent again with its key. Lives on the loop.
class Keys {
 public:
  explicit Keys(runtime::Daemon& daemon);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Calls `go` when the request is to be worked on, else answers it. Sets the exchange's key and responder. Throws
  // `api.bad_request` for a key that is none.
  void admit(const SharedExchange& exchange, Keeping keeping, std::function<void()> go);

 private:
  struct Table;
  void admit_from_store(const SharedExchange& exchange, std::function<void()> go);
  void forget_old();

  runtime::Daemon& daemon_;
  // Shared with requests that may outlive this.
  std::shared_ptr<Table> table_;
  base::BootTime forgotten_at_{};
};

}  // namespace reeve::server
