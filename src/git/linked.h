#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "git/workshop.h"

// Linked worktrees as files: what git keeps about them in the repository, and Reeve beside it.
namespace reeve::git {

// Written last: a worktree of Reeve's without it was left half made.
inline constexpr const char* ready_marker = "reeve-ready";

// Whose it is: the host and the scratch folder, a line each.
inline constexpr const char* owner_marker = "reeve-owner";
std::string describe_owner(const Workshop& workshop);
// It is of this host, and its scratch folder is not there any more.
bool is_owner_gone(const std::filesystem::path& own);

// `git.unsafe_folder` when the parent is not there as it is named: a symlink on the way, or no folder. The caller's
// path begins with root(), which has no links.
void check_parent(const std::filesystem::path& folder);
// Also the folder itself.
void check_folder(const std::filesystem::path& folder);

// The repository's own part of that worktree. Found by what the repository says, never by the `.git` file inside.
std::optional<std::filesystem::path> find_own_part(const Place& place, const std::filesystem::path& folder);
std::filesystem::path get_own_part(const Place& place, const std::filesystem::path& folder);

// All folders in it can be written again: tools make some read-only.
void make_writable(const std::filesystem::path& folder);
// The folder with all that is in it, also what was made read-only. False when something of it stayed.
bool remove_tree(const std::filesystem::path& folder);

// Appears whole, with the time of the original: git believes an index that is younger than a file.
void copy_index(const std::filesystem::path& from, const std::filesystem::path& to);

// The files of the worktree to `commit`, and both indexes with them: the worktree's own, for whoever uses git there,
// and Reeve's. Files that neither knew of stay.
void check_out(const Workshop& workshop, const std::filesystem::path& folder, const std::filesystem::path& own,
               const std::string& commit);

}  // namespace reeve::git
