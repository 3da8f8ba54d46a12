#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "git/remote.h"
#include "model/patch.h"

// A git repository, as far as Reeve works in it: refs, worktrees, snapshots, merges, the person's checkout.
namespace reeve::git {

class Workshop;

// Blocks until git has answered: for a thread of its own, one call at a time for one repository. Nothing that the
// repository or anybody's git config names is executed (ISO-5), and the network is used by Remote alone.
//
// Commits are full hashes, refs full names ("refs/heads/reeve/EX-9"), branches short ones ("reeve/EX-9"). Every call
// may throw base::Error: `git.missing` (no program git), `git.failed` (what git said), `git.timeout`, `os.failed`.
class Repository {
 public:
  // The repository in whose checkout `folder` lies; nothing outside git. Also a linked worktree that the person works
  // in is a checkout of its own, a bare repository never. `scratch` is a folder that is private to Reeve and hidden
  // from agents, in the state folder (made when it is not there): what is kept there is believed. Throws
  // `git.unsafe_folder` for a folder inside a worktree that Reeve made, or whose `.git` lies about where it belongs.
  static std::optional<Repository> find(const std::filesystem::path& folder, const std::filesystem::path& scratch);

  // The checkout, without links in its path.
  const std::filesystem::path& root() const noexcept;

  // The commit of HEAD; nothing on a branch without commits.
  std::optional<std::string> head();
  // The same, or `git.no_commits`.
  std::string get_head();
  std::optional<std::string> find_ref(const std::string& ref);
  // Whether it is there: what no ref keeps goes at some time.
  bool has_commit(const std::string& commit);
  // What a checkout of it would have in its files.
  std::string tree_of(const std::string& commit);
  // Compare-and-set: without `expected` the ref must not be there yet. False when it is something else by now.
  bool set_ref(const std::string& ref, const std::string& commit, const std::optional<std::string>& expected);
  // False when it is something else by now; true also when it is gone already.
  bool delete_ref(const std::string& ref, const std::string& expected);
  // Names of refs that begin so ("refs/reeve/"), with their commits, sorted.
  struct Ref {
    std::string name;
    std::string commit;
    friend bool operator==(const Ref&, const Ref&) = default;
  };
  std::vector<Ref> list_refs(const std::string& prefix);

  // By the name of a remote of this repository, or a URL or path. Nothing is reached yet. `git.no_remote` when there is
  // none of that name, `git.unsafe_remote` when it is reached by something else than a path, file:, https:, ssh: or
  // git:.
  Remote open_remote(const std::string& name, Remote::Access access);

  // A linked worktree with the files of `commit`, locked with that reason ("reeve EX-9"; it must begin with "reeve ").
  // Without a branch HEAD is detached. A branch is made at `commit` when it is not there; `git.branch_in_use` when it
  // is at another commit or checked out elsewhere. `git.unsafe_folder` when `folder` is there already, or its parent is
  // a symlink or no folder (a missing parent is made). On failure nothing is left behind but what a kill leaves.
  void add_worktree(const std::filesystem::path& folder, const std::string& commit,
                    const std::optional<std::string>& branch, const std::string& reason);
  // With all that is in it. Also half-made and half-removed ones; harmless when it is gone. The branch stays.
  // `git.unsafe_folder` when the parent is a symlink; a symlink in the place of `folder` itself is only unlinked.
  void remove_worktree(const std::filesystem::path& folder);
  struct Worktree {
    std::filesystem::path folder;
    // Empty when it cannot be read.
    std::string head;
    std::optional<std::string> branch;
    // Empty when it is not locked.
    std::string lock_reason;
    // add_worktree() came to its end. One of Reeve's that is not was left by a kill: remove it and add it again.
    bool is_ready = false;
    // The folder is there.
    bool is_there = false;
  };
  // The linked ones, whoever made them.
  std::vector<Worktree> list_worktrees();
  // Of a checkout that is a linked worktree itself: the main one. Nothing for the main one, and where that is bare.
  std::optional<Worktree> find_main_checkout();
  // Those of a Reeve of this host whose scratch folder is gone, and with it all that it knew of them.
  std::vector<Worktree> list_orphans();
  // Whether add_worktree() came to its end there and its folder is still one: no link, and known to the repository.
  bool has_worktree(const std::filesystem::path& folder);

  // Everything in a worktree of add_worktree() (ignored files left out, repositories inside taken as plain folders) as
  // a commit on `parent`; nothing when nothing differs from the parent's tree. The worktree and all refs stay as they
  // are. The same content with the same parent and message gives the same commit only within one second. The author is
  // the person (user.name and user.email of git's own config), else "Reeve <reeve@localhost>".
  std::optional<std::string> snapshot(const std::filesystem::path& worktree, const std::string& parent,
                                      const std::string& message);
  // Index, files and HEAD of a worktree of add_worktree() to that commit; untracked files that are not ignored go too
  // (make a snapshot before), a merge or rebase under way is forgotten. HEAD is detached, or on `branch`, which must be
  // at that commit already.
  void reset(const std::filesystem::path& worktree, const std::string& commit,
             const std::optional<std::string>& branch = std::nullopt);

  // The files of a worktree of add_worktree() as `files` has them, what it has beside `head` as untracked; otherwise as
  // reset() to `head`.
  void reset_files(const std::filesystem::path& worktree, const std::string& files, const std::string& head);

  struct Merged {
    // Nothing when there are conflicts.
    std::optional<std::string> commit;
    // Paths in conflict, as far as they can be shown (UTF-8).
    std::vector<std::string> conflicts;
  };
  // Three-way, in no worktree. `theirs` itself when `ours` is its ancestor, `ours` when it has all of `theirs`.
  Merged merge(const std::string& ours, const std::string& theirs, const std::string& message);
  // A commit on `onto` that takes back what lies between `from` and `to`, three-way; `onto` itself when there is
  // nothing to take back.
  Merged revert(const std::string& from, const std::string& to, const std::string& onto, const std::string& message);
  // A commit on `onto` with the files that differ between `from` and `to` as they are in `to`, but none where `from`
  // differs from `onto`: nothing of what lies between those two gets into it. `onto` itself when none is left.
  std::string carry(const std::string& from, const std::string& to, const std::string& onto,
                    const std::string& message);
  bool is_ancestor(const std::string& ancestor, const std::string& commit);

  struct Diff {
    // All of them, a renamed one under both names; binary ones with no lines. Paths are valid UTF-8.
    std::vector<model::PatchFile> files;
    // Valid UTF-8, at most 4 MiB; binary files are only named.
    std::string text;
    bool is_cut = false;
  };
  Diff diff(const std::string& from, const std::string& to);
  // Only which: paths in valid UTF-8, sorted.
  std::vector<std::string> list_changed(const std::string& from, const std::string& to);
  // Submodules that are at another commit: git has no more of it than its hash.
  std::vector<std::string> list_moved_submodules(const std::string& from, const std::string& to);

  struct Status {
    // Changes of tracked files, staged or not; paths in valid UTF-8.
    std::vector<std::string> dirty;
    // Files and folders that git does not know and does not ignore.
    std::vector<std::string> untracked;
    // Nothing when HEAD is detached.
    std::optional<std::string> branch;
    // Nothing on a branch without commits.
    std::optional<std::string> head;
    // A merge, rebase, cherry-pick, revert or bisection is under way.
    bool in_operation = false;
  };
  // Of the person's checkout.
  Status status();
  // The person's checkout from its HEAD to `commit`: files, index, and the branch that is checked out. Again after a
  // crash: goes on where it was. Nothing is changed, and `git.dirty` thrown, when a tracked file is changed, an
  // untracked one (ignored or not) is in the way, or a merge or the like is under way; `git.moved` when HEAD is no
  // ancestor of `commit`; `git.index_locked` when another git works there and does not end soon.
  void fast_forward(const std::string& commit);
  // What a kill within fast_forward() left, of the daemon or of its git: the checkout is at the one commit or the other
  // afterwards. Files that somebody has changed since stay. False when there was nothing.
  bool recover_checkout();
  // Checkouts that need that, of all that were worked on with this scratch folder.
  static std::vector<std::filesystem::path> list_half_done(const std::filesystem::path& scratch);

 private:
  explicit Repository(std::shared_ptr<Workshop> workshop);
  std::shared_ptr<Workshop> workshop_;
};

}  // namespace reeve::git
