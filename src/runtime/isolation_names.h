#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "model/patch.h"

// What is named after an execution in a repository (ISO-1), and what of it asks a person (ISO-4).
namespace reeve::runtime {

// "reeve/EX-9", "refs/heads/reeve/EX-9".
std::string branch_name(base::ExecutionId root);
std::string branch_ref(base::ExecutionId root);
// What keeps a commit that no branch has: "refs/reeve/EX-9/WHAT".
std::string kept_ref(base::ExecutionId root, std::string_view what);
std::string patch_ref(const model::Patch& patch);
// With which its worktrees are locked.
std::string lock_reason(base::ExecutionId root);

inline constexpr std::string_view worktrees_folder = ".worktrees";
// "EX-9", "EX-9.NAME".
std::string worktree_folder(base::ExecutionId root, std::string_view name);
// The name of a worktree that several tasks share, and of a throwaway checkout: made from what people wrote, of
// letters, digits, `-` and `_`, bounded; what had to be changed for that carries a mark of the whole.
std::string shared_name(std::string_view worktree_id);
std::string throwaway_name(std::string_view words);
bool is_throwaway(std::string_view folder_name);

// Paths that say what Reeve or an agent does: they always ask a person.
bool is_sensitive(std::string_view path);
std::vector<std::string> find_sensitive(const std::vector<model::PatchFile>& files);

// It is in the branch of its execution, and not in the checkout.
bool waits_on_branch(const model::Patch& patch);

// The first of them, for people.
std::string list_some(const std::vector<std::string>& paths);
// "2 files, +10 -3".
std::string describe_size(const std::vector<model::PatchFile>& files);

}  // namespace reeve::runtime
