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
  // Where it was started: into whose checkout it goes.
  std::string host = {};
  // There.
  std::string project = {};
  std::string base_commit = {};
  // Where the branch is to be.
  std::string tip = {};
  bool is_open = true;
  // Where it is worked on now: elsewhere only where it goes by a remote.
  std::string home = {};
  std::optional<std::string> remote = {};
  // What the remote is known to have, and what is on its way there: it has the one or the other.
  std::optional<std::string> pushed = {};
  std::optional<std::string> sending = {};
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
// Begins at its base, and at home where it was started.
void insert_branch(Session& session, const BranchRow& row);
// When its tip and its home are still those of the row; else Conflict.
void move_branch(Session& session, const BranchRow& from, const std::string& tip);
// What the remote has and what is on its way there; when its home is still that of the row, else Conflict.
void write_pushed(Session& session, const BranchRow& from, const std::optional<std::string>& pushed,
                  const std::optional<std::string>& sending);
// When its tip and its home are still those of the row; else Conflict. Nobody is said to work in worktrees of other
// hosts any more.
void move_home(Session& session, const BranchRow& from, const std::string& host);
void set_branch_open(Session& session, base::ExecutionId root, bool is_open);

// The project of a host other than the first that works on a branch, or did and has not tidied up.
std::optional<std::string> find_branch_place(Session& session, base::ExecutionId root, const std::string& host);
void write_branch_place(Session& session, base::ExecutionId root, const std::string& host, const std::string& project);
void delete_branch_place(Session& session, base::ExecutionId root, const std::string& host);

// Of one host, by name.
std::vector<WorktreeRow> find_worktrees(Session& session, base::ExecutionId root, const std::string& host);
void write_worktree(Session& session, base::ExecutionId root, const std::string& host, const WorktreeRow& row);
void delete_worktree(Session& session, base::ExecutionId root, const std::string& host, const std::string& name);

}  // namespace reeve::store
