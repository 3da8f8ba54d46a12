#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/quantity.h"
#include "model/run.h"

// The stall ladder (RUN-5): when silence becomes a warning, and when a run counts as stalled.
namespace reeve::engine {

// Resource use of a run's whole process tree since its start.
struct Activity {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t io_bytes = 0;
};

// A period of silence. Any sign of life starts a new one: output, a heartbeat, an answered approval, the end of a tool
// call.
struct Silence {
  base::BootTime since;
  // Sampled at half-time; empty before.
  std::optional<Activity> at_half;
};

enum class StallVerdict {
  // Nothing to do before `look_again`.
  wait,
  // Half of the time limit has passed: warn once, and keep the activity for comparison at the deadline.
  half_time,
  // Silent but working: a new period of silence starts now.
  at_work,
  stalled,
};

struct StallDecision {
  StallVerdict verdict = StallVerdict::wait;
  // When to check again; empty without a limit, and after `stalled` until there is a sign of life.
  std::optional<base::BootTime> look_again;
};

// `now` must not be before `silence.since`. `seen` is used only at half-time and at the deadline (`is_due`). With
// `liveness: output`, activity is ignored.
StallDecision check_stall(base::TimeLimit no_output_timeout, model::Liveness liveness, const Silence& silence,
                          base::BootTime now, const Activity& seen);

// Whether check_stall would use the activity now.
bool is_due(base::TimeLimit no_output_timeout, const Silence& silence, base::BootTime now);

}  // namespace reeve::engine
