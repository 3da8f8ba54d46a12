#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "store/session.h"

// What executions have made in repositories (ISO-1).
namespace reeve::store {

struct BranchRow {
  base::ExecutionId root{0};
  // Whose folders its worktrees are.
  std::string host = {};
  std::string project = {};
  std::string base_commit = {};
  // Where the branch is to be.
  std::string tip = {};
  bool is_open = true;
};

// The attempt that works in a worktree.
struct WorktreeHolder {
  base::ExecutionId execution{0};
  std::string node_id;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const WorktreeHolder&, const WorktreeHolder&) = default;
};

struct WorktreeRow {
  // Empty: the execution's own.
  std::string name = {};
  bool is_ready = false;
  std::optional<WorktreeHolder> holder = {};
  // The branch it began at, that with what was set up, and what of its files is kept in git.
  std::string base_commit = {};
  std::string start_commit = {};
  std::string kept_commit = {};
};

std::optional<BranchRow> find_branch(Session& session, base::ExecutionId root);
// Of this host, whose worktrees are not gone.
std::vector<BranchRow> find_open_branches(Session& session, const std::string& host);
// Begins at its base.
void insert_branch(Session& session, const BranchRow& row);
// When it is still there where it is to be moved from.
void move_branch(Session& session, base::ExecutionId root, const std::string& from, const std::string& tip);
void set_branch_open(Session& session, base::ExecutionId root, bool is_open);

// By name.
std::vector<WorktreeRow> find_worktrees(Session& session, base::ExecutionId root);
void write_worktree(Session& session, base::ExecutionId root, const WorktreeRow& row);
void delete_worktree(Session& session, base::ExecutionId root, const std::string& name);

}  // namespace reeve::store
