#pragma once

#include <optional>
#include <string>

#include "base/id.h"
#include "git/remote.h"
#include "git/repository.h"
#include "model/patch.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/settings/isolation_settings.h"
#include "store/branches.h"
#include "store/session.h"

namespace reeve::runtime {

// The branch of one execution (ISO-1) in a repository of this host. The store decides which commit it points to; git
// follows, because a process in a worktree can move refs. Made for one operation: it holds the row as it was read.
// All members throw base::Error.
class ExecutionBranch {
 public:
  // Creates the branch at first use. Only for the owner host. Errors: `git.branch_in_use`, `git.elsewhere`.
  static ExecutionBranch open(IsolationContext& context, const IsolationSettings& settings, base::ExecutionId root);
  // On the host where the execution was started; takes the branch of an ended execution back from the host that last
  // owned it. Nothing if the execution has no branch. Error: `git.elsewhere`.
  static std::optional<ExecutionBranch> find(IsolationContext& context, base::ExecutionId root);
  // The same, with the error `patch.no_repository` if there is none.
  static ExecutionBranch get(IsolationContext& context, base::ExecutionId root);
  static ExecutionBranch get(IsolationContext& context, const model::Patch& patch);

  // A remote copy: the execution was started on another host and migrated here through a remote.
  static bool is_remote_copy(IsolationContext& context, base::ExecutionId root);
  // Nothing if this host has already cleaned up.
  static std::optional<ExecutionBranch> find_remote_copy(IsolationContext& context, base::ExecutionId root);
  // See Isolation::migrate().
  static std::string migrate(IsolationContext& context, const IsolationSettings& settings, base::ExecutionId root);

  base::ExecutionId root() const noexcept { return row_.root; }
  git::Repository& repository() const noexcept { return *repository_; }
  const store::BranchRow& row() const noexcept { return row_; }
  // The project's path on this host.
  const std::string& project() const noexcept { return project_; }

  // Points the git branch at the commit in the store.
  void restore_ref();
  // Throws `git.branch_in_use` if the branch is checked out somewhere.
  void check_free() const;
  // Writes the new tip to the store; set_tip() follows once that is committed.
  void write_tip(store::Session& session, const std::string& commit) const;
  void set_tip(const std::string& commit) { row_.tip = commit; }
  // While a branch is open, the next start cleans up after its execution.
  void set_open(bool is_open);

  // Pushes the commit to the remote and records that in the store. Retries if the remote cannot be reached.
  void publish(const std::string& commit);
  // Deletes the branch on the remote, unless someone else changed it there.
  void unpublish();

 private:
  ExecutionBranch(IsolationContext& context, git::Repository& repository, store::BranchRow row, std::string project)
      : context_(&context), repository_(&repository), row_(std::move(row)), project_(std::move(project)) {}

  static store::BranchRow create(IsolationContext& context, const IsolationSettings& settings, base::ExecutionId root);
  static void reclaim(IsolationContext& context, store::BranchRow& row);
  void check_free(const std::optional<std::string>& current) const;
  void resolve_push(git::Remote& remote);
  void write_pushed(const std::optional<std::string>& pushed, const std::optional<std::string>& sending);

  // Never null; pointers keep the object movable.
  IsolationContext* context_;
  git::Repository* repository_;
  store::BranchRow row_;
  std::string project_;
};

}  // namespace reeve::runtime
