#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/run.h"

// The results of an execution's gates, and the git tree each was for (ISO-2, ISO-3). The gate runs are the record: only
// Reeve writes their metadata.
namespace reeve::runtime {

inline constexpr const char* gate_key = "gate";
// The tree checked out for the gate. A gate that runs in the project folder has none, so its result applies to no tree.
inline constexpr const char* tree_key = "tree";
inline constexpr const char* commit_key = "commit";
// What the gate checked: a task's change, the branch, or the change about to be written into the user's checkout.
inline constexpr const char* judged_key = "judged";
inline constexpr const char* judged_task = "task";
inline constexpr const char* judged_branch = "branch";
inline constexpr const char* judged_merge = "merge";
// For `judged_merge`: what is to be applied, "EX-9" or "PA-3".
inline constexpr const char* apply_key = "apply";

// The metadata value, or an empty string.
std::string find_word(const model::Run& run, const char* key);

// ISO-3: the gates that must pass before that tree may be written: all gates whose latest result was a pass, except
// those whose latest result for this very tree was a pass, and those that only warn. A gate node that did not pass
// counts as a result, which the workflow has handled; a gate that rejected a task's change does not, because that
// change is not in the branch. `runs` are all gate runs of the execution in order; `gates` are the definitions it was
// started with.
std::vector<std::string> find_gates_to_ask(const std::vector<model::Run>& runs,
                                           const std::map<std::string, model::Gate>& gates, const std::string& tree);

// Why the latest gate run for that apply did not pass; nothing if it passed, is still running, or does not exist.
std::optional<std::string> find_refusal(const std::vector<model::Run>& runs, const std::string& apply);

// For display: "gate `test` did not pass (exit code 1)", "gate `test` gave no result: …". `run` must have ended.
std::string describe_refusal(const std::string& gate, const model::Run& run);

// Whether a failure of this gate blocks nothing.
bool only_warns(const model::Gate& gate);

}  // namespace reeve::runtime
