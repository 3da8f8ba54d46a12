#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/run.h"
#include "model/run.h"

namespace reeve::runtime {

// What a person asks of a live run.
struct PersonRequest {
  enum class Kind { pause, resume, limit } kind = Kind::pause;
  engine::LimitsRequested limits = {};
  std::string by;
  std::function<void(std::expected<model::Run, base::Error>)> done;
};

// The callers that wait for what they asked of a live run. Requests of people take effect one after the other; requests
// to end the run wait together until the reason is stored. Pure.
class RunCallers {
 public:
  using Result = std::expected<model::Run, base::Error>;
  using Done = std::function<void(Result)>;
  static constexpr std::size_t max_requests = 64;

  // False if too many wait; then `request` is unchanged.
  [[nodiscard]] bool add(PersonRequest& request) {
    if (requests_.size() >= max_requests) return false;
    requests_.push_back(std::move(request));
    return true;
  }
  // The next request, which is under way from now on; null if one is, or none waits.
  const PersonRequest* begin_next() {
    if (requests_.empty() || std::exchange(is_under_way_, true)) return nullptr;
    return &requests_.front();
  }
  // The one that is under way.
  const PersonRequest& current() const {
    REEVE_ASSERT(is_under_way_);
    return requests_.front();
  }
  // It is over; returns its caller.
  [[nodiscard]] Done end_current() {
    REEVE_ASSERT(is_under_way_);
    Done done = std::move(requests_.front().done);
    requests_.pop_front();
    is_under_way_ = false;
    return done;
  }

  void wait_for_end(Done done) { end_waiters_.push_back(std::move(done)); }
  [[nodiscard]] std::vector<Done> take_end_waiters() { return std::exchange(end_waiters_, {}); }

 private:
  std::deque<PersonRequest> requests_;
  bool is_under_way_ = false;
  std::vector<Done> end_waiters_;
};

}  // namespace reeve::runtime
