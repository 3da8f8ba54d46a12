#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/loop/loop.h"

namespace reeve::runtime {

// Values stored under a key until their hold is destroyed. A hold may outlive the map, and a value may own its own
// hold: destroying either never re-enters an object that is being destroyed.
template <class Key, class Value>
class HoldMap {
 public:
  explicit HoldMap(const Loop& loop) : loop_(loop) {}

  [[nodiscard]] Loop::Hold add(const Key& key, Value value) {
    const Place place{key, next_++};
    values_->emplace(place, std::move(value));
    return {loop_, [values = std::weak_ptr(values_), place] {
              // Removed from the map before it is destroyed.
              if (const auto alive = values.lock()) alive->extract(place);
            }};
  }

  bool is_empty() const noexcept { return values_->empty(); }

  // Each key once.
  std::vector<Key> keys() const {
    std::vector<Key> found;
    for (const auto& [place, _] : *values_) {
      if (found.empty() || found.back() != place.first) found.push_back(place.first);
    }
    return found;
  }

  // Returns copies, because a callback may add and remove values.
  std::vector<Value> find(const Key& key) const {
    std::vector<Value> found;
    for (auto at = values_->lower_bound({key, 0}); at != values_->end() && at->first.first == key; ++at) {
      found.push_back(at->second);
    }
    return found;
  }

  // Removes the matching values from the map and returns them.
  template <class Wanted>
  std::vector<Value> take(const Key& key, Wanted is_wanted) {
    std::vector<Value> taken;
    for (auto at = values_->lower_bound({key, 0}); at != values_->end() && at->first.first == key;) {
      const auto here = at++;
      if (is_wanted(here->second)) taken.push_back(std::move(values_->extract(here).mapped()));
    }
    return taken;
  }

 private:
  using Place = std::pair<Key, std::uint64_t>;

  const Loop& loop_;
  std::uint64_t next_ = 0;
  std::shared_ptr<std::map<Place, Value>> values_ = std::make_shared<std::map<Place, Value>>();
};

}  // namespace reeve::runtime
