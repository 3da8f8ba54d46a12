#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "model/config.h"

namespace reeve::runtime {

// What a worktree needs beyond what git keeps (SPEC §7 `worktree`).
struct SetupPlan {
  // Both the project's folder: the person's, and that in the worktree.
  std::filesystem::path from;
  std::filesystem::path to;
  model::WorktreeSettings settings;
  std::map<std::string, std::string> environment;
  base::Milliseconds limit = std::chrono::minutes(30);
};

// Copies the files that the settings name (what is not there is left out), then runs their commands, each with a
// session of its own and its whole group killed at the end of the time. Asks `is_ending` now and then: true ends it.
// Blocks. Throws `worktree.copy_failed`, `worktree.setup_failed` with what the command said last.
void set_up_worktree(const SetupPlan& plan, const std::function<bool()>& is_ending);

}  // namespace reeve::runtime
