#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "model/patch.h"

// Names derived from an execution in a repository (ISO-1), and paths whose change needs an approval (ISO-4).
namespace reeve::runtime {

// "reeve/EX-9", "refs/heads/reeve/EX-9".
std::string branch_name(base::ExecutionId root);
std::string branch_ref(base::ExecutionId root);
// A ref that keeps a commit that is on no branch: "refs/reeve/EX-9/WHAT".
std::string kept_ref(base::ExecutionId root, std::string_view what);
std::string patch_ref(const model::Patch& patch);
// The reason recorded when its worktrees are locked.
std::string lock_reason(base::ExecutionId root);

inline constexpr std::string_view worktrees_folder = ".worktrees";
// "EX-9", "EX-9.NAME".
std::string worktree_folder(base::ExecutionId root, std::string_view name);
// Names of shared worktrees and throwaway checkouts, made from user text: letters, digits, `-` and `_`, of limited
// length. If the text had to be changed, the name includes a hash of the original.
std::string shared_name(std::string_view worktree_id);
std::string throwaway_name(std::string_view words);
bool is_throwaway(std::string_view folder_name);

// Paths that control Reeve or an agent: changes to them always need an approval.
bool is_sensitive(std::string_view path);
std::vector<std::string> find_sensitive(const std::vector<model::PatchFile>& files);

// Whether the patch is on its execution's branch but not in the checkout.
bool waits_on_branch(const model::Patch& patch);

// Paths for display: all, or the first few.
std::string list_all(const std::vector<std::string>& paths);
std::string list_some(const std::vector<std::string>& paths);
// Tells the user how to apply the branch without Reeve.
std::string merge_manually(base::ExecutionId root);
// "2 files, +10 -3".
std::string describe_size(const std::vector<model::PatchFile>& files);

}  // namespace reeve::runtime
