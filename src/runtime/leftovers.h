#pragma once

#include <optional>
#include <string>
#include <vector>

#include "keeper/records.h"
#include "os/process.h"

namespace reeve::runtime {

// An attempt whose keeper has gone without ending its tree.
struct LostAttempt {
  std::string nonce;
  std::string attempt_folder;
  // It may not have ended yet, with everything done.
  os::ProcessId keeper = {};
  // What its keeper wrote down before it started the tool, if it is this attempt's.
  std::optional<keeper::ExecMarker> marker = {};
};

// RUN-13: living processes that the keeper would have ended, with all beneath them: the tool, whatever was started with
// the attempt's name in its environment, and whatever has its mark (os/descent_mark.h), which a process cannot remove.
// One that has changed its mark is found as long as this daemon's guard has taken it in. What may outlive its tool
// (RUN-17) is left alone when it is another attempt's.
std::vector<os::ProcessId> find_leftovers(const LostAttempt& attempt);

}  // namespace reeve::runtime
