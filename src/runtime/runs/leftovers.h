#pragma once

#include <optional>
#include <string>
#include <vector>

#include "keeper/records.h"
#include "os/process.h"

namespace reeve::runtime {

// An attempt whose keeper disappeared without ending the process tree.
struct LostAttempt {
  std::string nonce;
  std::string attempt_folder;
  // The keeper may still be exiting, with all its work done.
  os::ProcessId keeper = {};
  // The marker its keeper wrote before starting the tool, if it belongs to this attempt.
  std::optional<keeper::ExecMarker> marker = {};
};

// RUN-13: the live processes that the keeper would have ended, with their descendants: the tool, every process with the
// attempt's id in its environment, and every process that carries its mark (os/descent_mark.h), which a process cannot
// remove. A process that changed its mark is found as long as this daemon's guard has adopted it. Processes that may
// outlive their tool (RUN-17) are left alone if they belong to another attempt.
std::vector<os::ProcessId> find_leftovers(const LostAttempt& attempt);

// Kills them, and the attempt's control group. Returns what is still alive. Blocks for up to two seconds.
std::vector<std::string> kill_leftovers(const LostAttempt& lost);

}  // namespace reeve::runtime
