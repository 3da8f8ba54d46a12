#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/quantity.h"
#include "model/run.h"

// The stall ladder (RUN-5): when silence becomes a warning, and when a run counts as stalled.
namespace reeve::engine {

// What the whole tree of a run has used since it began.
struct Activity {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t io_bytes = 0;
};

// Silence as it is watched. Any sign of life begins a new one: output, a heartbeat, an answered approval, the end of a
// tool call.
struct Silence {
  base::BootTime since;
  // Seen at half-time; nothing before.
  std::optional<Activity> at_half;
};

enum class StallVerdict {
  // Nothing to do before `look_again`.
  wait,
  // Half of the time is over: one warning, and the activity is kept for the deadline.
  half_time,
  // Silent, but at work: a new silence begins now.
  at_work,
  stalled,
};

struct StallDecision {
  StallVerdict verdict = StallVerdict::wait;
  // When to ask again; nothing when there is no limit, or after `stalled` until something is heard.
  std::optional<base::BootTime> look_again;
};

// `now` must not lie before the silence. `seen` is asked for only at half-time and at the deadline (`is_due`). With
// `liveness: output` activity does not count.
StallDecision check_stall(base::TimeLimit no_output_timeout, model::Liveness liveness, const Silence& silence,
                          base::BootTime now, const Activity& seen);

// Whether check_stall would look at the activity now.
bool is_due(base::TimeLimit no_output_timeout, const Silence& silence, base::BootTime now);

}  // namespace reeve::engine
