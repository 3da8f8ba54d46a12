#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/digest.h"
#include "runtime/run_plan.h"

// What a run would do if it were started now, as a grant is given for it (APR-10).
namespace reeve::runtime {

// Looks at the disk: the prompt in the run's folder, the working folder by identity, and every file that a word of the
// command names. Scripts, and what is handed to an interpreter, count by their contents; a large file, and a program in
// machine code, by which file it is, its size and when it was changed.
engine::ApprovedThing describe_thing(const RunPlan& plan, const std::string& run_folder);

// Kept in the run's folder (0600) while the question is open, so that a new one can say what has changed. Values of
// variables are kept as hashes.
std::string encode_thing(const engine::ApprovedThing& thing);
std::optional<engine::ApprovedThing> decode_thing(std::string_view text);
// Its name there.
std::string thing_name(std::string_view digest);
// Only for the words of a later question: where it cannot be kept, that says less.
void keep_thing(const std::string& run_folder, std::string_view digest, const engine::ApprovedThing& thing);
// "the script `deploy.sh`"; empty when nothing that was kept differs.
std::string find_change(const engine::ApprovedThing& kept, const engine::ApprovedThing& now);

}  // namespace reeve::runtime
