#include "runtime/ground_shelf.h"

#include <utility>

namespace reeve::runtime {

GroundShelf::Shared GroundShelf::share(ExecutionGround ground) {
  const auto forget_dead = [&] { std::erase_if(grounds_, [](const auto& one) { return one.expired(); }); };
  forget_dead();
  for (const auto& one : grounds_) {
    const Shared alike = one.lock();
    if (alike && *alike == ground) return alike;
  }
  if (grounds_.size() >= most_grounds) {
    places_.clear();
    forget_dead();
  }
  // Those that are left are held by what runs: the oldest is not looked for any more.
  if (grounds_.size() >= most_grounds) grounds_.pop_front();
  auto made = std::make_shared<const ExecutionGround>(std::move(ground));
  grounds_.push_back(made);
  return made;
}

const GroundShelf::Place& GroundShelf::put(base::ExecutionId execution, Place place) {
  if (places_.size() >= most_places) places_.clear();
  return places_.insert_or_assign(execution, std::move(place)).first->second;
}

const GroundShelf::Place* GroundShelf::find(base::ExecutionId execution) const {
  const auto found = places_.find(execution);
  return found != places_.end() ? &found->second : nullptr;
}

}  // namespace reeve::runtime
