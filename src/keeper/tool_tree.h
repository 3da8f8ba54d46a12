#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "os/cgroup.h"
#include "os/spawn.h"
#include "os/tree.h"

namespace reeve::keeper {

// The tool and all its descendants, killed as a whole: through a cgroup where one can be created, and by walking the
// descendants of this process, which is their subreaper.
class ToolTree {
 public:
  // `cgroup_parent` empty: only by walking.
  ToolTree(const std::string& cgroup_parent, const std::string& name);
  ~ToolTree();
  ToolTree(const ToolTree&) = delete;
  ToolTree& operator=(const ToolTree&) = delete;

  std::expected<os::Process, os::SpawnFailure> spawn(os::SpawnPlan plan);
  // Signals every process in the tree; also continues stopped ones, so that they can react.
  void terminate();
  // Stops every process in the tree, also with a cgroup, because SIGSTOP is what people see in `ps`. Returns how many
  // could not be stopped. May be repeated.
  std::size_t freeze();
  // Continues those that freeze() stopped.
  void thaw();
  bool is_empty() const;
  // The leftover processes, as "pid name". `keep`: a child that is waited for elsewhere.
  struct End {
    std::vector<std::string> names;
    bool is_gone = true;
  };
  End kill(std::chrono::milliseconds timeout, pid_t keep);
  // Empty if there is none.
  std::string cgroup() const { return group_ ? group_->path() : std::string(); }

 private:
  std::optional<os::Cgroup> group_;
  // By freeze(), parents first.
  std::vector<os::ProcessId> stopped_;
};

}  // namespace reeve::keeper
