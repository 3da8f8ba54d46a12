#pragma once

#include <string>

#include <fmt/format.h>

#include "tests/support/daemon.h"

namespace reeve::testing {

// The states of the processes as in proc(5): "TT".
inline std::string states_of(const std::vector<FoundProcess>& processes) {
  std::string states;
  for (const FoundProcess& process : processes) {
    const std::string stat = read_text(fmt::format("/proc/{}/stat", process.pid));
    states += stat.at(stat.rfind(") ") + 2);
  }
  return states;
}

// Whether every one, and at least `count`, is stopped.
inline bool are_stopped(const std::vector<FoundProcess>& processes, std::size_t count) {
  const std::string now = states_of(processes);
  return now.size() >= count && now.find_first_not_of('T') == std::string::npos;
}

}  // namespace reeve::testing
