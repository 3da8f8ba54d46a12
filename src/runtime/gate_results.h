#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/run.h"

// What the gates of an execution have said, and about which tree of git (ISO-2, ISO-3). Their runs are the record: what
// they carry in their metadata is written by Reeve alone.
namespace reeve::runtime {

inline constexpr const char* gate_key = "gate";
// The tree that was checked out for it. A gate that runs in the project folder has none: it says nothing about a tree.
inline constexpr const char* tree_key = "tree";
inline constexpr const char* commit_key = "commit";
// What it judged: the change of a task, the branch, or what is about to be written into the person's checkout.
inline constexpr const char* judged_key = "judged";
inline constexpr const char* judged_task = "task";
inline constexpr const char* judged_branch = "branch";
inline constexpr const char* judged_merge = "merge";
// Of the last: what is to be applied, "EX-9" or "PA-3".
inline constexpr const char* apply_key = "apply";

// The value, or nothing.
std::string find_word(const model::Run& run, const char* key);

// ISO-3: the gates that must say yes before that tree may be written: those whose last result was a pass, without those
// whose last word about this very tree was a pass, and without those that only warn. The no of a gate node counts as a
// result, which the workflow has dealt with; the no to a task's change does not, since the change is not in the branch.
// `runs` are all runs of gates of the execution in their order, `gates` what the execution was started with.
std::vector<std::string> find_gates_to_ask(const std::vector<model::Run>& runs,
                                           const std::map<std::string, model::Gate>& gates, const std::string& tree);

// Why the last gate that was asked before that apply did not pass; nothing when it passed, still runs, or there is
// none.
std::optional<std::string> find_refusal(const std::vector<model::Run>& runs, const std::string& apply);

// For people: "the gate `test` said no (exit code 1)", "the gate `test` could not be asked: …". Of a run that is over.
std::string describe_refusal(const std::string& gate, const model::Run& run);

// Its no holds nothing up.
bool only_warns(const model::Gate& gate);

}  // namespace reeve::runtime
