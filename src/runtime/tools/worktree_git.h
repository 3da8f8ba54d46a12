#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "git/git_context.h"
#include "runtime/tools/confined_folder.h"
#include "runtime/tools/tool_host.h"

namespace reeve::runtime {

// Git for one hosted call (TOOL-4). git never reads the contents of the worktree's files for a result, because it opens
// them by name: they are copied by descriptor into a folder that the agent does not see, and git works on the copies.
// Names are relative to the repository. Throws base::Error where git fails.
class WorktreeGit {
 public:
  // Throws `git.unsafe_folder`; nullptr outside a repository.
  static std::unique_ptr<WorktreeGit> open(const HostedCall& call, const ConfinedFolder& folder, std::stop_token stop);
  ~WorktreeGit();
  WorktreeGit(const WorktreeGit&) = delete;
  WorktreeGit& operator=(const WorktreeGit&) = delete;

  const std::shared_ptr<git::GitContext>& context() const noexcept { return context_; }
  const git::Place& place() const noexcept { return context_->place(); }
  // "sub/" if the worktree is a folder inside the checkout; else empty.
  const std::string& prefix() const noexcept { return prefix_; }
  // The names of these paths; of the whole worktree if there are none.
  std::expected<std::vector<std::string>, std::string> find_names(const std::vector<std::string>& paths) const;

  // The commands that need the repository itself: revisions, refs, config.
  git::Call in_repository(std::vector<std::string> words) const;
  // With the copies as work tree and the copy of the index; `--` separates literal paths.
  git::Call in_copies(std::vector<std::string> words) const;
  // The same, but writes objects beside the repository's.
  git::Call in_private_copies(std::vector<std::string> words) const;
  // With the worktree itself and the copy of the index: only to list names.
  git::Call in_worktree(std::vector<std::string> words) const;

  // The commit of a revision; nullopt if there is none, or if the text could be anything but a revision.
  std::optional<std::string> find_commit(const std::string& revision) const;
  // HEAD's branch: "refs/heads/main"; nullopt if detached.
  std::optional<std::string> find_branch_ref() const;
  // Takes a copy of the index, of at most 256 MiB, and notes in it which files are unchanged.
  void copy_index() const;

  struct Copies {
    // Copied, or gone from the worktree.
    std::vector<std::string> names;
    // Sentences: the file and why it was left out.
    std::vector<std::string> refused;
  };
  Copies copy_files(const std::vector<std::string>& names);

 private:
  WorktreeGit(const ConfinedFolder& folder, std::filesystem::path scratch, std::stop_token stop);

  git::Call limited(git::Call call) const;
  // Empty on success.
  std::string copy_file(const std::string& name);

  const ConfinedFolder& folder_;
  // Of this call, removed at its end.
  std::filesystem::path scratch_;
  std::filesystem::path copies_;
  std::filesystem::path index_;
  std::stop_token stop_;
  std::shared_ptr<git::GitContext> context_;
  std::string prefix_;
  std::size_t copied_bytes_ = 0;
};

}  // namespace reeve::runtime
