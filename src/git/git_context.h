#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "git/command.h"

namespace reeve::git {

// The location of a checkout and its repository, without symlinks in the paths.
struct Place {
  // The checkout.
  std::filesystem::path root;
  // The checkout's own git folder: HEAD, index, operations in progress.
  std::filesystem::path own;
  // The folder shared by all checkouts: objects, refs, config, the worktrees' own folders. Same as `own` for a main
  // checkout.
  std::filesystem::path common;
};
// Searches upwards for `.git` as git does, without reading any config. Throws `git.unsafe_folder` for a worktree
// created by Reeve and for a `.git` that its repository does not list.
std::optional<Place> find_place(const std::filesystem::path& folder);
// The same for the tools of an agent, which may have written whatever is in the folder: worktrees created by Reeve are
// accepted; a `.git` that is a symlink, a separate git folder, borrowed objects, and a worktree that lost its `.git`
// file are refused with `git.unsafe_folder`.
std::optional<Place> find_confined_place(const std::filesystem::path& folder);

// Prefix of the lock reason of worktrees created by Reeve.
inline constexpr std::string_view own_reason = "reeve ";

// Runs git for one repository, in two ways: `theirs` in the repository itself, whose config git then reads, for the few
// commands that write refs or manage worktrees; and `ours`, for everything that reads or writes files and objects, in
// Reeve's own git folder with the repository's objects and a config written by Reeve. A git that could run filters,
// drivers or converters therefore never sees the repository's settings for them.
class GitContext {
 public:
  GitContext(Place place, const std::filesystem::path& scratch);

  const Place& place() const noexcept { return place_; }
  // Reeve's own private git folder.
  const std::filesystem::path& folder() const noexcept { return folder_; }

  Call in_repository(std::vector<std::string> words) const;
  // In a linked worktree: its own record of the common folder is not trusted, because the agent can write it.
  Call in_repository_at(const std::filesystem::path& own, std::vector<std::string> words) const;
  // Without a work tree.
  Call sandboxed(std::vector<std::string> words) const;
  Call sandboxed_in(const std::filesystem::path& work_tree, const std::filesystem::path& index,
                    std::vector<std::string> words) const;
  // In the user's checkout with its index, with HEAD set to that commit.
  Call sandboxed_in_checkout(const std::optional<std::string>& head, std::vector<std::string> words) const;
  // Without a work tree, but with the attributes of that commit: which files merge by line, which are binary.
  Call sandboxed_like(const std::string& commit, std::vector<std::string> words) const;

  std::optional<std::string> resolve(const std::string& revision) const;
  std::string tree_of(const std::string& commit) const;
  std::string commit_tree(const std::string& tree, const std::vector<std::string>& parents,
                          const std::string& message) const;

  // Reeve's own index for the files of a worktree; the agent cannot change it. `name` is that of the worktree's own
  // folder.
  std::filesystem::path index_of(const std::string& name) const;
  // An unused name next to it, so that its lock cannot collide with that of a git that survived a kill.
  std::filesystem::path make_index_name(const std::string& name) const;

 private:
  // Repeated, in case the scratch folder was emptied.
  void set_up() const;
  void write_config() const;
  void read_settings();
  void write_attributes(const std::string& commit) const;

  Place place_;
  // Reeve's own git folder.
  std::filesystem::path folder_;
  // From the user's config, only settings that affect file contents: "core.autocrlf=input".
  std::vector<std::string> settings_;
  std::vector<std::string> sparse_settings_;
  std::string object_format_;
  std::vector<std::string> identity_;
};

}  // namespace reeve::git
