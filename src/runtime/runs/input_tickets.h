#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace reeve::runtime {

// Inputs that were sent to a keeper and wait for its confirmation.
class InputTickets {
 public:
  using Done = std::function<void(bool)>;

  // The ticket to send; nothing if too many wait.
  std::optional<std::uint32_t> add(Done done) {
    if (waiting_.size() >= max_waiting) return std::nullopt;
    waiting_.emplace(next_, std::move(done));
    return next_++;
  }

  void confirm(std::uint32_t ticket, bool is_taken) {
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) return;
    const Done done = std::move(found->second);
    waiting_.erase(found);
    done(is_taken);
  }

  void refuse_all() {
    for (auto& [_, done] : std::exchange(waiting_, {})) done(false);
  }

 private:
  static constexpr std::size_t max_waiting = 64;

  std::uint32_t next_ = 1;
  std::map<std::uint32_t, Done> waiting_;
};

}  // namespace reeve::runtime
