#pragma once

#include <deque>
#include <utility>

namespace reeve::runtime {

// Handles events one at a time, in order. An event that is added while another is being handled is handled after it, so
// that no handler is ever entered twice.
template <class Event>
class SerialQueue {
 public:
  template <class Handler>
  void add(Event event, Handler handle) {
    waiting_.push_back(std::move(event));
    if (std::exchange(is_handling_, true)) return;
    const Turn turn{*this};
    while (!waiting_.empty()) {
      const Event next = std::move(waiting_.front());
      waiting_.pop_front();
      handle(next);
    }
  }

 private:
  // Also ends the turn if a handler throws.
  struct Turn {
    SerialQueue& queue;
    explicit Turn(SerialQueue& turned) : queue(turned) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { queue.is_handling_ = false; }
  };

  std::deque<Event> waiting_;
  bool is_handling_ = false;
};

}  // namespace reeve::runtime
