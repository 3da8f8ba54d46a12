#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/loop.h"

namespace reeve::runtime {

// What somebody waits with, under a key, until its hold is gone. A hold may outlive the map, and what a value keeps may
// be its own hold: neither the end of the map nor that of the hold comes back to what is being destroyed.
template <class Key, class Value>
class HoldMap {
 public:
  explicit HoldMap(const Loop& loop) : loop_(loop) {}

  [[nodiscard]] Loop::Hold add(const Key& key, Value value) {
    const Place place{key, next_++};
    values_->emplace(place, std::move(value));
    return {loop_, [values = std::weak_ptr(values_), place] {
              // Out of the map first, destroyed then.
              if (const auto alive = values.lock()) alive->extract(place);
            }};
  }

  bool is_empty() const noexcept { return values_->empty(); }

  // Each once.
  std::vector<Key> keys() const {
    std::vector<Key> found;
    for (const auto& [place, _] : *values_) {
      if (found.empty() || found.back() != place.first) found.push_back(place.first);
    }
    return found;
  }

  // Copies: whoever is called may add some and end others.
  std::vector<Value> find(const Key& key) const {
    std::vector<Value> found;
    for (auto at = values_->lower_bound({key, 0}); at != values_->end() && at->first.first == key; ++at) {
      found.push_back(at->second);
    }
    return found;
  }

  // Those that are wanted are in the map no more.
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
