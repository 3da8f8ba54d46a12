#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

#include "runtime/execution_ground.h"

namespace reeve::runtime {

// The grounds of executions at hand. Those that are alike are kept once: most executions of a project are started with
// the same config and environment. Bounded in executions and in grounds; what is not here is read again.
class GroundShelf {
 public:
  using Shared = std::shared_ptr<const ExecutionGround>;
  struct Place {
    Shared ground;
    base::ExecutionId root{0};
  };

  // One that is like it, if somebody has one.
  Shared share(ExecutionGround ground);
  const Place& put(base::ExecutionId execution, Place place);
  // Valid until something is put or taken away.
  const Place* find(base::ExecutionId execution) const;
  void erase(base::ExecutionId execution) { places_.erase(execution); }

  static constexpr std::size_t most_places = 1'024;
  static constexpr std::size_t most_grounds = 16;

 private:
  // Those that somebody has.
  std::deque<std::weak_ptr<const ExecutionGround>> grounds_;
  std::map<base::ExecutionId, Place> places_;
};

}  // namespace reeve::runtime
