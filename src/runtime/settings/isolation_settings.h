#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/config.h"

namespace reeve::runtime {

// Identifies a node attempt. `root` is the execution that owns the branch and worktrees; nodes of subgraphs work on
// those of their root.
struct NodeAttemptId {
  base::ExecutionId root{0};
  base::ExecutionId execution{0};
  std::string node;
  int iteration = 0;
  int attempt = 0;
  // Nodes with the same value share a worktree, one at a time.
  std::optional<std::string> worktree_id;
  friend bool operator==(const NodeAttemptId&, const NodeAttemptId&) = default;
};

// Frozen when the execution starts.
struct IsolationSettings {
  std::string project;
  // Nothing means no isolation: all work happens in the project folder.
  std::optional<std::string> base_commit;
  model::WorktreeSettings worktree;
  // The environment of the `setup` commands.
  std::map<std::string, std::string> environment;
  // LOG-4: values that are never shown, in addition to those of variables with secret names.
  std::vector<std::string> secrets;
  friend bool operator==(const IsolationSettings&, const IsolationSettings&) = default;
};

// Where the branch of an execution is pushed to and fetched from.
struct RemoteOptions {
  // A remote of the project's repository, or a URL or path.
  std::string name;
  // The ssh agent socket of the user who starts the execution; empty if there is none.
  std::string ssh_agent;
};

}  // namespace reeve::runtime
