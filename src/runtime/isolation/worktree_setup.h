#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/redaction.h"
#include "model/config.h"
#include "os/lock.h"

namespace reeve::runtime {

// Sets up what a worktree needs beyond the files in git (SPEC §7 `worktree`).
struct SetupPlan {
  // The project folder: the user's, and the one in the worktree.
  std::filesystem::path from;
  std::filesystem::path to;
  model::WorktreeSettings settings;
  std::map<std::string, std::string> environment;
  // Secrets in addition to variables with secret names.
  std::vector<std::string> secrets = {};
  // Held open by the commands and all their descendants.
  std::filesystem::path lock;
  base::Milliseconds limit = std::chrono::minutes(30);
};

// Copies the files named in the settings, then runs their commands, each in its own session; its whole process group is
// killed at the time limit. Polls `is_ending`; true ends the setup. Blocks. Any number may run at once, each with its
// own lock. Throws `worktree.copy_failed`, or `worktree.setup_failed` with the command's last output, secrets masked.
void set_up_worktree(const SetupPlan& plan, const std::function<bool()>& is_ending);

// Takes the lock of those commands and kills the processes that still hold it: a setup that outlived its daemon would
// interfere with the next one in the same folder.
os::FileLock end_setup(const std::filesystem::path& lock);
// Ends all setups whose locks are in that folder, and removes the locks.
void end_setups(const std::filesystem::path& folder);

// LOG-4: the values of variables with secret names, and those listed as secrets.
std::shared_ptr<const base::SecretSet> make_secrets(const std::map<std::string, std::string>& environment,
                                                    const std::vector<std::string>& known);

}  // namespace reeve::runtime
