#include "engine/stall.h"

#include <algorithm>

namespace reeve::engine {

namespace {

constexpr std::uint64_t least_io_bytes = 4096;
constexpr int cpu_share = 100;  // one part in so many is work

bool is_at_work(const Activity& before, const Activity& now, base::BootClock::duration time) {
  return now.cpu - before.cpu >= time / cpu_share || now.io_bytes - before.io_bytes >= least_io_bytes;
}

}  // namespace

bool is_due(base::TimeLimit no_output_timeout, const Silence& silence, base::BootTime now) {
  if (!no_output_timeout.after) return false;
  const base::BootClock::duration limit = *no_output_timeout.after;
  return now - silence.since >= (silence.at_half ? limit : limit / 2);
}

StallDecision check_stall(base::TimeLimit no_output_timeout, model::Liveness liveness, const Silence& silence,
                          base::BootTime now, const Activity& seen) {
  if (!no_output_timeout.after) return {StallVerdict::wait, std::nullopt};
  const base::BootClock::duration limit = *no_output_timeout.after;
  const base::BootTime half = silence.since + limit / 2;
  const base::BootTime deadline = silence.since + limit;
  if (now < half) return {StallVerdict::wait, half};
  // Without a sample at half-time there is nothing to compare with: a late check (after suspend, or without a daemon)
  // warns first and allows another half of the limit.
  if (!silence.at_half) return {StallVerdict::half_time, std::max(deadline, now + limit / 2)};
  if (now < deadline) return {StallVerdict::wait, deadline};
  if (liveness == model::Liveness::activity && is_at_work(*silence.at_half, seen, limit / 2)) {
    return {StallVerdict::at_work, now + limit / 2};
  }
  return {StallVerdict::stalled, std::nullopt};
}

}  // namespace reeve::engine
