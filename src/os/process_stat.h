#pragma once

#include <cstdint>
#include <optional>

#include "os/process.h"

namespace reeve::os {

// One line of /proc/PID/stat, as far as it matters here.
struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  pid_t group = 0;
  // The device number of its controlling terminal; 0 when it has none.
  std::uint64_t terminal = 0;
  // As proc(5) has it: R, S, D, T, Z …
  char state = '?';
  // Its own, and that of the children it has waited for.
  std::uint64_t cpu_ticks = 0;
  std::uint64_t threads = 0;
};

// Nothing when there is no such process.
std::optional<ProcessStat> read_process_stat(pid_t pid);

}  // namespace reeve::os
