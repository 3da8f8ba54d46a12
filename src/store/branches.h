#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "store/session.h"

// Branches and worktrees that executions have created in repositories (ISO-1).
namespace reeve::store {

struct BranchRow {
  base::ExecutionId root{0};
  // The host where it was started, whose checkout receives the changes.
  std::string host = {};
  // The project on that host.
  std::string project = {};
  std::string base_commit = {};
  // The commit that the branch must point to.
  std::string tip = {};
  bool is_open = true;
  // The owner host: where it is worked on now. Differs from `host` only with a remote.
  std::string home = {};
  std::optional<std::string> remote = {};
  // The commit that the remote is known to have, and the one being pushed: the remote has one of the two.
  std::optional<std::string> pushed = {};
  std::optional<std::string> sending = {};
};

// The attempt that works in a worktree.
struct WorktreeLease {
  base::ExecutionId execution{0};
  std::string node_id;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const WorktreeLease&, const WorktreeLease&) = default;
};

struct WorktreeRow {
  // Empty: the execution's main worktree.
  std::string name = {};
  bool is_ready = false;
  std::optional<WorktreeLease> holder = {};
  // The commits of the branch it started from, after setup, and of the files kept in git.
  std::string base_commit = {};
  std::string start_commit = {};
  std::string kept_commit = {};
};

std::optional<BranchRow> find_branch(Session& session, base::ExecutionId root);
// Branches of this host whose worktrees still exist.
std::vector<BranchRow> find_open_branches(Session& session, const std::string& host);
// The branch starts at its base commit, owned by the host that started it.
void insert_branch(Session& session, const BranchRow& row);
// Throws Conflict unless tip and owner host are still those of `from`.
void move_branch(Session& session, const BranchRow& from, const std::string& tip);
// Stores what the remote has and what is being pushed. Throws Conflict unless the owner host is still that of `from`.
void write_pushed(Session& session, const BranchRow& from, const std::optional<std::string>& pushed,
                  const std::optional<std::string>& sending);
// Throws Conflict unless tip and owner host are still those of `from`. Clears the holders of worktrees on other hosts.
void move_owner_host(Session& session, const BranchRow& from, const std::string& host);
void set_branch_open(Session& session, base::ExecutionId root, bool is_open);

// The project path on a host, other than the first, that works on a branch or has not cleaned up after it.
std::optional<std::string> find_branch_place(Session& session, base::ExecutionId root, const std::string& host);
void write_branch_place(Session& session, base::ExecutionId root, const std::string& host, const std::string& project);
void delete_branch_place(Session& session, base::ExecutionId root, const std::string& host);

// The worktrees of one host, by name.
std::vector<WorktreeRow> find_worktrees(Session& session, base::ExecutionId root, const std::string& host);
void write_worktree(Session& session, base::ExecutionId root, const std::string& host, const WorktreeRow& row);
void delete_worktree(Session& session, base::ExecutionId root, const std::string& host, const std::string& name);

}  // namespace reeve::store
