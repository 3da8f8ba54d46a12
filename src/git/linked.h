#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "git/git_context.h"

// Linked worktrees as files: git's administrative files in the repository, and Reeve's next to them.
namespace reeve::git {

// Written last: a Reeve worktree without this file is incomplete.
inline constexpr const char* ready_marker = "reeve-ready";

// The owner: host and scratch folder, one per line.
inline constexpr const char* owner_marker = "reeve-owner";
std::string describe_owner(const GitContext& context);
// The owner is on this host, and its scratch folder no longer exists.
bool is_owner_gone(const std::filesystem::path& own);

// Throws `git.unsafe_folder` if the parent is not exactly the folder named: a symlink in its path, or not a folder. The
// caller's path begins with root(), which has no symlinks.
void check_parent(const std::filesystem::path& folder);
// Also checks the folder itself.
void check_folder(const std::filesystem::path& folder);

// The repository's administrative folder for that worktree. Found through the repository, never through the `.git` file
// inside.
std::optional<std::filesystem::path> find_own_part(const Place& place, const std::filesystem::path& folder);
std::filesystem::path get_own_part(const Place& place, const std::filesystem::path& folder);
// Whether the `.git` file in the folder refers to this administrative folder. In a copy of a repository, whose
// administrative folders still name the worktrees of the original, it does not.
bool refers_back(const std::filesystem::path& folder, const std::filesystem::path& own);

// Makes all folders in it writable again: tools make some read-only.
void make_writable(const std::filesystem::path& folder);
// Removes the folder with its contents, including read-only folders. False if something is left.
bool remove_tree(const std::filesystem::path& folder);

struct IndexCopyLimits {
  std::uint64_t max_bytes = UINT64_MAX;
  // Polled: true ends the copy.
  std::function<bool()> gives_up = {};
};
// Copied atomically, with the time of the original: git trusts an index that is newer than a file. Throws `git.failed`
// if it is not a regular file or too large, `git.timeout` if given up.
void copy_index(const std::filesystem::path& from, const std::filesystem::path& to, const IndexCopyLimits& terms = {});

// Sets the worktree's files to `commit`, along with both indexes: the worktree's own, for users of git there, and
// Reeve's. Files that are in neither are kept.
void check_out(const GitContext& context, const std::filesystem::path& folder, const std::filesystem::path& own,
               const std::string& commit);

}  // namespace reeve::git
