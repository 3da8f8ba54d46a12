#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "git/remote.h"
#include "model/patch.h"

// A git repository, as far as Reeve uses it: refs, worktrees, snapshots, merges, the user's checkout.
namespace reeve::git {

class GitContext;

// Blocks until git has finished: use it from a dedicated thread, one call at a time per repository. Nothing named by
// the repository or by any git config is executed (ISO-5), and only Remote uses the network.
//
// Commits are full hashes, refs full names ("refs/heads/reeve/EX-9"), branches short ones ("reeve/EX-9"). Every call
// may throw base::Error: `git.missing` (git is not installed), `git.failed` (with git's message), `git.timeout`,
// `os.failed`.
class Repository {
 public:
  // The repository whose checkout contains `folder`; nullopt outside git. A linked worktree of the user is a checkout
  // of its own, a bare repository is not. `scratch` is a folder in the state folder, private to Reeve and hidden from
  // agents (created if missing): its contents are trusted. Throws `git.unsafe_folder` for a folder inside a worktree
  // created by Reeve, or whose `.git` names a repository that it does not belong to.
  static std::optional<Repository> find(const std::filesystem::path& folder, const std::filesystem::path& scratch);

  // In a context that is already open.
  static Repository open(std::shared_ptr<GitContext> context) { return Repository(std::move(context)); }

  // The checkout, without symlinks in its path.
  const std::filesystem::path& root() const noexcept;

  // The commit of HEAD; nullopt on a branch without commits.
  std::optional<std::string> head();
  // The commit of HEAD; throws `git.no_commits` if there is none.
  std::string get_head();
  std::optional<std::string> find_ref(const std::string& ref);
  // Whether the commit exists: git eventually removes commits without a ref.
  bool has_commit(const std::string& commit);
  // The hash of the commit's tree.
  std::string tree_of(const std::string& commit);
  // Compare-and-set: without `expected` the ref must not exist yet. False if it has another value by now.
  bool set_ref(const std::string& ref, const std::string& commit, const std::optional<std::string>& expected);
  // False if the ref has another value by now; true also if it is already gone.
  bool delete_ref(const std::string& ref, const std::string& expected);

  // By the name of a remote of this repository, or a URL or path. Does not connect yet. Throws `git.no_remote` if there
  // is no remote of that name, `git.unsafe_remote` if it is anything but a path, file:, https:, ssh: or git:.
  Remote open_remote(const std::string& name, Remote::Access access);

  // Creates a linked worktree with the files of `commit`, locked with that reason ("reeve EX-9"; it must begin with
  // "reeve "). Without a branch HEAD is detached. A missing branch is created at `commit`; throws `git.branch_in_use`
  // if the branch is at another commit or checked out elsewhere, `git.unsafe_folder` if `folder` already exists, or its
  // parent is a symlink or not a folder (a missing parent is created). A failure leaves nothing behind, except what a
  // kill leaves.
  void add_worktree(const std::filesystem::path& folder, const std::string& commit,
                    const std::optional<std::string>& branch, const std::string& reason);
  // Removes the worktree with its contents, even if it is incomplete or half removed; harmless if it is gone. The
  // branch is kept. Throws `git.unsafe_folder` if the parent is a symlink; a symlink in the place of `folder` itself is
  // only unlinked.
  void remove_worktree(const std::filesystem::path& folder);
  // Removes only the repository's records of the worktree, and nothing at its path.
  void forget_worktree(const std::filesystem::path& folder);
  struct Worktree {
    std::filesystem::path folder;
    // Empty if it cannot be read.
    std::string head;
    std::optional<std::string> branch;
    // Empty if it is not locked.
    std::string lock_reason;
    // add_worktree() completed. A Reeve worktree without this flag was left by a kill: remove it and add it again.
    bool is_ready = false;
    // The folder exists.
    bool is_there = false;
    // The folder belongs to this repository. Otherwise never touch it: this repository may be a copy, whose records
    // name the worktrees of the original.
    bool is_own = false;
  };
  // All linked worktrees, including those not created by Reeve.
  std::vector<Worktree> list_worktrees();
  // For a checkout that is itself a linked worktree: the main checkout. Nullopt for the main one, and if that is bare.
  std::optional<Worktree> find_main_checkout();
  // Worktrees of a Reeve on this host whose scratch folder is gone, and with it all records of them.
  std::vector<Worktree> list_orphans();
  // Whether add_worktree() completed there and the folder is still valid: not a symlink, and listed by the repository.
  bool has_worktree(const std::filesystem::path& folder);

  // Commits the contents of a worktree of add_worktree() on top of `parent`, without ignored files and with nested
  // repositories as plain folders; nullopt if nothing differs from the parent's tree. The worktree and all refs stay
  // unchanged. The same content with the same parent and message gives the same commit only within one second. The
  // author is the user (user.name and user.email of git's config), or else "Reeve <reeve@localhost>".
  std::optional<std::string> snapshot(const std::filesystem::path& worktree, const std::string& parent,
                                      const std::string& message);
  // Resets index, files and HEAD of a worktree of add_worktree() to that commit; untracked files that are not ignored
  // are removed too (take a snapshot first), and a merge or rebase in progress is abandoned. HEAD is detached, or on
  // `branch`, which must already be at that commit.
  void reset(const std::filesystem::path& worktree, const std::string& commit,
             const std::optional<std::string>& branch = std::nullopt);

  // Resets a worktree of add_worktree() to `head`, but with the files of `files`; those that are not in `head` become
  // untracked.
  void reset_files(const std::filesystem::path& worktree, const std::string& files, const std::string& head);

  struct Merged {
    // Nullopt if there are conflicts.
    std::optional<std::string> commit;
    // Conflicting paths, as far as they can be shown (UTF-8).
    std::vector<std::string> conflicts;
  };
  // Three-way merge, without a worktree. Returns `theirs` itself if `ours` is its ancestor, `ours` if it contains
  // `theirs`.
  Merged merge(const std::string& ours, const std::string& theirs, const std::string& message);
  // A commit on `onto` that reverts the changes between `from` and `to`, three-way; `onto` itself if there is nothing
  // to revert.
  Merged revert(const std::string& from, const std::string& to, const std::string& onto, const std::string& message);
  // A commit on `onto` with the files that differ between `from` and `to` as they are in `to`, except files in which
  // `from` differs from `onto`: none of those differences get into it. `onto` itself if no file is left.
  std::string carry(const std::string& from, const std::string& to, const std::string& onto,
                    const std::string& message);
  bool is_ancestor(const std::string& ancestor, const std::string& commit);

  struct Diff {
    // All changed files, a renamed one under both names; binary ones without line counts. Paths are valid UTF-8. The
    // old name counts as deleted unless the whole content is unchanged under the new one.
    std::vector<model::PatchFile> files;
    // Valid UTF-8, at most 4 MiB; binary files are only named.
    std::string text;
    bool is_cut = false;
  };
  Diff diff(const std::string& from, const std::string& to);
  // Only the paths, in valid UTF-8, sorted.
  std::vector<std::string> list_changed(const std::string& from, const std::string& to);
  // Submodules that are at another commit, of which git stores only the hash.
  std::vector<std::string> list_moved_submodules(const std::string& from, const std::string& to);

  struct Status {
    // Changed tracked files, staged or not; paths in valid UTF-8.
    std::vector<std::string> dirty;
    // Files and folders that are neither tracked nor ignored.
    std::vector<std::string> untracked;
    // Nullopt if HEAD is detached.
    std::optional<std::string> branch;
    // Nullopt on a branch without commits.
    std::optional<std::string> head;
    // A merge, rebase, cherry-pick, revert or bisection is in progress.
    bool in_operation = false;
  };
  // The status of the user's checkout.
  Status status();
  // Moves the user's checkout from its HEAD to `commit`: files, index, and the branch that is checked out. Can be
  // repeated after a crash and then resumes. Throws and changes nothing: `git.dirty` if a tracked file is changed, an
  // untracked one (ignored or not) is in the way, or a merge or similar operation is in progress; `git.moved` if HEAD
  // is not an ancestor of `commit`; `git.index_locked` if another git process works there and does not finish soon.
  void fast_forward(const std::string& commit);
  // Recovers from a kill of the daemon or its git within fast_forward(): afterwards the checkout is at one of the two
  // commits. Files that were changed since are kept. False if there was nothing to recover.
  bool recover_checkout();
  // The checkouts that need recovery, among all that were used with this scratch folder.
  static std::vector<std::filesystem::path> list_half_done(const std::filesystem::path& scratch);

 private:
  explicit Repository(std::shared_ptr<GitContext> context);
  std::shared_ptr<GitContext> context_;
};

}  // namespace reeve::git
