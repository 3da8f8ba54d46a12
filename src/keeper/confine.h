#pragma once

#include <optional>
#include <string>
#include <string_view>

// The two ends of a sandbox: what becomes bubblewrap, and what becomes the tool inside it. Both are the keeper program
// in another role, so that what happened in between can be told from what the tool did.
namespace reeve::keeper {

// In the attempt's folder, out of the tool's reach: how far the way into the sandbox went.
inline constexpr const char* sandbox_name = "sandbox";
// The number under which the second finds that file.
inline constexpr int sandbox_fd = 9;

// Becomes `command` (bubblewrap and its words). A signal for the tool's group or tree must not end bubblewrap, whose
// end would kill the tool without grace: it is born deaf to all that can be ignored. Returns the exit code when it
// cannot.
int confine(const char* status_file, char** command);
// Inside: hears again, says that it is there and becomes `command`; with an empty one that was all.
int enter_sandbox(char** command);

// What the file says. Nothing: the sandbox was never entered.
struct SandboxEntry {
  // The tool could not be started in it: the error number and the stage, as os::SpawnFailure has them.
  int error_number = 0;
  int stage = 0;
};
std::optional<SandboxEntry> parse_sandbox_entry(std::string_view text);

}  // namespace reeve::keeper
