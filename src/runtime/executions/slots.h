#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ledger/executions.h"
#include "runtime/inbox/event.h"

namespace reeve::runtime {

// Execution and node.
using NodeKey = std::pair<std::int64_t, graph::NodeIndex>;
inline NodeKey key_of(const ledger::Claim& claim) { return {claim.execution.number(), claim.node}; }

// Slots for the runs of nodes (RUN-14): which claims use one, and which wait for one. A node whose working folder is
// being prepared uses none; once the folder is ready, it waits for a slot before all nodes without a folder, because
// others may wait for that folder.
class Slots {
 public:
  explicit Slots(std::size_t max_runs) : max_runs_(max_runs) {}

  // How many more nodes may be claimed.
  std::size_t room() const noexcept;
  bool is_full() const noexcept { return busy_.size() >= limit(); }
  // How many slots nodes use.
  std::size_t busy() const noexcept { return busy_.size(); }
  // The slots that queued runs use.
  void set_others(std::function<std::size_t()> count) { others_ = std::move(count); }

  void occupy(const ledger::Claim& claim) { busy_.insert_or_assign(key_of(claim), claim); }
  // Does nothing if another claim of the same node uses the slot.
  void release(const ledger::Claim& claim);
  bool is_occupied_by(const ledger::Claim& claim) const;
  void set_preparing(const ledger::Claim& claim, bool is_preparing);

  void add_waiting(ledger::StartWork work) { waiting_.push_back(std::move(work)); }
  void add_ready(WorktreeReady ready) { ready_.push_back(std::move(ready)); }
  void remove_waiting(const ledger::Claim& claim);
  void remove_ready(const ledger::Claim& claim);
  // The next that may use a slot now.
  std::optional<WorktreeReady> take_ready();
  std::optional<ledger::StartWork> take_waiting();

 private:
  // Bounded, because each gets a worktree.
  bool may_prepare() const noexcept;
  // What is left for nodes.
  std::size_t limit() const noexcept { return max_runs_ - std::min(max_runs_, others_()); }

  std::size_t max_runs_;
  std::function<std::size_t()> others_ = [] { return 0UZ; };
  // Each with the claim that uses the slot: an attempt may still be ending when the next one of the same node begins.
  std::map<NodeKey, ledger::Claim> busy_;
  std::set<NodeKey> preparing_;
  std::deque<ledger::StartWork> waiting_;
  std::deque<WorktreeReady> ready_;
};

}  // namespace reeve::runtime
