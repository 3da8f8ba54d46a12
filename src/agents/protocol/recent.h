#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reeve::agents {

// The newest entries of a stream that names more things than can be remembered.
template <class V>
class Recent {
 public:
  explicit Recent(std::size_t max_entries) : max_entries_(max_entries) {}

  V* find(std::string_view key) {
    const auto found = entries_.find(key);
    return found != entries_.end() ? &found->second : nullptr;
  }
  // Adds or replaces the entry. Returns the oldest one if it had to go.
  std::optional<V> put(std::string_view key, V value) {
    if (V* found = find(key)) {
      *found = std::move(value);
      return std::nullopt;
    }
    entries_.emplace(key, std::move(value));
    order_.emplace_back(key);
    if (order_.size() <= max_entries_) return std::nullopt;
    auto oldest = entries_.extract(order_.front());
    order_.pop_front();
    return std::move(oldest.mapped());
  }
  const std::map<std::string, V, std::less<>>& entries() const noexcept { return entries_; }

 private:
  std::size_t max_entries_;
  std::map<std::string, V, std::less<>> entries_;
  std::deque<std::string> order_;
};

}  // namespace reeve::agents
