#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/beneath.h"

// The two ends of a sandbox: the process that becomes bubblewrap, and the one inside it that becomes the tool. Both are
// the keeper program in another role, so that a failure of the sandbox can be told from a failure of the tool.
namespace reeve::keeper {

// In the attempt's folder, out of the tool's reach: records whether the sandbox was entered.
inline constexpr const char* sandbox_name = "sandbox";
// The descriptor through which the process inside writes that file.
inline constexpr int sandbox_fd = 9;

// Becomes `command` (bubblewrap and its arguments). A signal sent to the tool's group or tree must not end bubblewrap,
// because that would kill the tool without its grace period: bubblewrap starts with all such signals ignored. Returns
// an exit code on failure.
int confine(const char* status_file, char** command);
// Inside the sandbox: restores signal handling, records the entry, enters the folder if it is given, and becomes
// `command`; with an empty command, only records.
int enter_sandbox(char** command, const std::optional<os::KnownFolder>& folder = {});
// The words of a folder on the command line: `--in ROOT NAME DEVICE INODE`.
std::vector<std::string> make_folder_words(const os::KnownFolder& folder);
inline constexpr int folder_words = 5;
// Nullopt if the words are not such.
std::optional<os::KnownFolder> parse_folder_words(char** words);

// The contents of that file. Nullopt: the sandbox was never entered.
struct SandboxEntry {
  // Set if the tool could not be started in it: error number and stage, as in os::SpawnFailure.
  int error_number = 0;
  int stage = 0;
};
std::optional<SandboxEntry> parse_sandbox_entry(std::string_view text);

}  // namespace reeve::keeper
