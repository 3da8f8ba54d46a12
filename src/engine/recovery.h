#pragma once

#include <cstdint>

namespace reeve::engine {

// What is known about an attempt that the store believes alive when a daemon finds it (RUN-13).
struct RecoveryFacts {
  // The machine has not restarted since the attempt was stored.
  bool is_same_boot = false;
  // The keeper's lock is held: it lives. Implies the same boot.
  bool is_held = false;
  // The keeper accepted a connection.
  bool is_connected = false;
  // The exec marker has the attempt's nonce and is of this boot: the tool may have started.
  bool is_marked = false;
  // The exit record has the attempt's nonce.
  bool has_exit = false;
  // The run was being ended, or its node no longer holds it.
  bool must_end = false;
  // Argv, environment and folder are still there.
  bool has_launch = false;
  // Starts of this attempt that were lost before the marker (APR-7), and how many are allowed.
  int starts = 0;
  std::int64_t max_starts = 0;
  // The pause after the last of them is over.
  bool has_paused = false;
};

enum class RecoveryAction {
  // End the run as the exit record says.
  finish,
  // Reconnect to the keeper and continue reading its output.
  adopt,
  // The keeper lives and has not started the tool yet: wait for its next message, then decide again.
  look_again,
  // Kill what is left of its tree, then store the end that was asked for.
  finish_ending,
  // It never ran: start it, in the same attempt.
  start,
  // As `start`, after a pause.
  pause_and_start,
  // It never ran and cannot be started: fail it.
  give_up,
  // It began and was lost: kill what is left of its tree, then follow `on_interrupted`.
  interrupt,
};

// The recovery table of docs/ARCHITECTURE.md. Nothing is started unless it is certain that nothing of it ran or runs.
RecoveryAction decide_recovery(const RecoveryFacts& facts) noexcept;

}  // namespace reeve::engine
