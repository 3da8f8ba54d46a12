#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/inbox/event.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// Where the parts of the daemon report what happened. Each event is handled in a turn of its own, so a part may post
// from within its own functions and is never re-entered. The order is that of the posts, and the same as that of
// Loop::post(): an event posted before an answer of the store is handled before it.
class Inbox {
 public:
  using Handler = std::function<void(Event)>;

  // `handle` is called on the loop. An exception from it propagates from Loop::run().
  Inbox(Loop& loop, Handler handle);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // From any thread.
  void post(Event event);
  // From now on events are dropped, posted ones too. Called on the loop, before anything that handles them is
  // destroyed.
  void close() noexcept { core_->is_open = false; }
  // Whether every event that was posted on the loop has been handled.
  bool is_empty() const noexcept { return core_->waiting == 0; }

 private:
  struct Core {
    Handler handle;
    std::atomic<bool> is_open = true;
    std::atomic<std::size_t> waiting = 0;
  };

  Loop& loop_;
  // Pending deliveries detect that this object is gone.
  std::shared_ptr<Core> core_;
};

}  // namespace reeve::runtime
