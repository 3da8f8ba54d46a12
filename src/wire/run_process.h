#pragma once

#include <cstdint>
#include <optional>

#include "model/config.h"
#include "model/run.h"

namespace reeve::wire {

// GET /api/runs/ID/process: the live process tree of a run, and what limits it.
struct RunProcess {
  base::RunId tool_run_id{0};
  int attempt = 1;
  // The tool, once it has started, and the keeper that holds it.
  std::optional<std::int64_t> pid;
  std::int64_t keeper_pid = 0;
  // All of its tree, now.
  std::int64_t processes = 0;
  std::int64_t cpu_ms = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t io_bytes = 0;
  // The three clocks. CPU and I/O are sampled, so `last_activity_at` may be up to 15 s late.
  std::optional<base::WallTime> last_output_at;
  std::optional<base::WallTime> last_heartbeat_at;
  std::optional<base::WallTime> last_activity_at;
  // RUN-3; without one, null. The rest of it stands still while the run waits for an answer.
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> time_left_ms;
  // RUN-5.
  std::optional<std::int64_t> no_output_timeout_ms;
  model::OnStall on_stall = model::OnStall::mark;
  model::Liveness liveness = model::Liveness::activity;
};
BOOST_DESCRIBE_STRUCT(RunProcess, (),
                      (tool_run_id, attempt, pid, keeper_pid, processes, cpu_ms, memory_bytes, io_bytes, last_output_at,
                       last_heartbeat_at, last_activity_at, timeout_ms, time_left_ms, no_output_timeout_ms, on_stall,
                       liveness))

}  // namespace reeve::wire
