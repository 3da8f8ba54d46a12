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

// What a worktree needs beyond what git keeps (SPEC §7 `worktree`).
struct SetupPlan {
  // Both the project's folder: the person's, and that in the worktree.
  std::filesystem::path from;
  std::filesystem::path to;
  model::WorktreeSettings settings;
  std::map<std::string, std::string> environment;
  // Beside what the names of variables say.
  std::vector<std::string> secrets = {};
  // Held by the commands and all that they start.
  std::filesystem::path lock;
  base::Milliseconds limit = std::chrono::minutes(30);
};

// Copies the files that the settings name, then runs their commands, each with a
// session of its own and its whole group killed at the end of the time. Asks `is_ending` now and then: true ends it.
// Blocks; any number of them at once, each with a lock of its own. Throws `worktree.copy_failed`,
// `worktree.setup_failed` with what the command said last, without secrets.
void set_up_worktree(const SetupPlan& plan, const std::function<bool()>& is_ending);

// The lock of those commands. Kills what still holds it: a setup that outlived the daemon that started it would work
// against the next one in the same folder.
os::FileLock end_setup(const std::filesystem::path& lock);
// All whose locks lie in that folder; the locks go too.
void end_setups(const std::filesystem::path& folder);

// LOG-4: the values of variables whose names say that they are secret, and those that are known to be.
std::shared_ptr<const base::SecretSet> make_secrets(const std::map<std::string, std::string>& environment,
                                                    const std::vector<std::string>& known);

}  // namespace reeve::runtime
