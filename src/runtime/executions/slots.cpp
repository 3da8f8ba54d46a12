#include "runtime/executions/slots.h"

#include <algorithm>

namespace reeve::runtime {

namespace {

// Nodes whose working folders may be prepared at once, however few may run.
constexpr std::size_t least_preparing = 4;

template <class T>
std::optional<T> take_front(std::deque<T>& queue) {
  std::optional<T> front(std::move(queue.front()));
  queue.pop_front();
  return front;
}

}  // namespace

std::size_t Slots::room() const noexcept {
  if (!may_prepare()) return 0;
  return limit() - std::min(limit(), busy_.size() + waiting_.size() + ready_.size());
}

bool Slots::may_prepare() const noexcept { return preparing_.size() < std::max(max_runs_, least_preparing); }

void Slots::release(const ledger::Claim& claim) {
  if (is_occupied_by(claim)) busy_.erase(key_of(claim));
}

bool Slots::is_occupied_by(const ledger::Claim& claim) const {
  const auto busy = busy_.find(key_of(claim));
  return busy != busy_.end() && busy->second == claim;
}

void Slots::set_preparing(const ledger::Claim& claim, bool is_preparing) {
  if (is_preparing) {
    preparing_.insert(key_of(claim));
  } else {
    preparing_.erase(key_of(claim));
  }
}

void Slots::remove_waiting(const ledger::Claim& claim) {
  std::erase_if(waiting_, [&](const ledger::StartWork& work) { return work.claim == claim; });
}

void Slots::remove_ready(const ledger::Claim& claim) {
  std::erase_if(ready_, [&](const WorktreeReady& ready) { return ready.claim == claim; });
}

std::optional<WorktreeReady> Slots::take_ready() {
  if (ready_.empty() || is_full()) return std::nullopt;
  return take_front(ready_);
}

std::optional<ledger::StartWork> Slots::take_waiting() {
  if (waiting_.empty() || is_full() || !may_prepare()) return std::nullopt;
  return take_front(waiting_);
}

}  // namespace reeve::runtime
