#pragma once

#include <cstdint>
#include <optional>

#include "os/process.h"

namespace reeve::os {

// The fields of /proc/PID/stat that are used here.
struct ProcessStat {
  ProcessId id;
  pid_t parent = 0;
  pid_t group = 0;
  // Device number of its controlling terminal; 0 if it has none.
  std::uint64_t terminal = 0;
  // As in proc(5): R, S, D, T, Z …
  char state = '?';
  // Of the process itself and the children that it has waited for.
  std::uint64_t cpu_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t resident_pages = 0;
};

// Nullopt if there is no such process.
std::optional<ProcessStat> read_process_stat(pid_t pid);

}  // namespace reeve::os
