#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/digest.h"
#include "runtime/runs/run_plan.h"

// A fingerprint of what a run would do if it were started now; a grant covers exactly this (APR-10).
namespace reeve::runtime {

// Reads the disk: the prompt in the run's folder, the identity of the working folder, and every file named by an
// argument of the command. Scripts, and files passed to an interpreter, are identified by their content; large files
// and native executables by inode, size and modification time.
engine::LaunchFingerprint take_fingerprint(const RunPlan& plan, const std::string& run_folder);

// The form saved in the run's folder (0600) while the question is open, so that a later question can name what has
// changed. Values of environment variables are saved as hashes.
std::string encode_fingerprint(const engine::LaunchFingerprint& fingerprint);
std::optional<engine::LaunchFingerprint> decode_fingerprint(std::string_view text);
// The file name in the run's folder.
std::string fingerprint_file(std::string_view digest);
// Used only for the wording of a later question, so errors are ignored.
void save_fingerprint(const std::string& run_folder, std::string_view digest,
                      const engine::LaunchFingerprint& fingerprint);
// For example "the script `deploy.sh`"; empty if no saved part differs.
std::string find_change(const engine::LaunchFingerprint& kept, const engine::LaunchFingerprint& now);

}  // namespace reeve::runtime
