#include "engine/recovery.h"

namespace reeve::engine {

RecoveryAction decide_recovery(const RecoveryFacts& facts) noexcept {
  if (facts.has_exit) return RecoveryAction::finish;
  if (facts.is_held) {
    return facts.is_marked && facts.is_connected ? RecoveryAction::adopt : RecoveryAction::look_again;
  }
  if (facts.must_end) return RecoveryAction::finish_ending;
  // A marker proves nothing about another boot.
  if (!facts.is_same_boot || facts.is_marked) return RecoveryAction::interrupt;
  if (!facts.has_launch || facts.starts >= facts.max_starts) return RecoveryAction::give_up;
  if (facts.starts > 0 && !facts.has_paused) return RecoveryAction::pause_and_start;
  return RecoveryAction::start;
}

}  // namespace reeve::engine
