#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agents/hook_dialect.h"
#include "base/value.h"

// The hook entry in an agent's settings file. Pure: text in, text out.
namespace reeve::agents {

// Where an agent looks for its settings.
struct SettingsPlace {
  // Beneath the home or the project: ".claude".
  std::string folder;
  std::string file;
  // The variable that names the user's folder instead, if the agent has one.
  std::string variable;
};
SettingsPlace settings_place(HookDialect dialect);

// How long the agent waits for a hook whose entry sets no timeout.
int default_hook_seconds(HookDialect dialect);
// How long the installed entry lets a hook wait for a person: as long as an approval stays open by default.
inline constexpr int installed_hook_seconds = 24 * 3600;
// The same for a hook that reports a result.
inline constexpr int result_hook_seconds = 30;
// A hook answers that much earlier than its agent stops waiting: after a timeout the call would run.
inline constexpr int hook_margin_seconds = 10;

struct HookEntry {
  // The absolute path of reeve.
  std::string program;
  // Denies outside of runs. An entry that does keeps doing so.
  bool is_required = false;
};
// The text with the entries for all tools: before a call, and after it where the dialect has ids of calls. Unchanged if
// they are there; those of another version are replaced. The error says why the text cannot be edited. An empty text is
// a new file.
std::expected<std::string, std::string> add_hook(HookDialect dialect, std::string_view text, HookEntry entry);
// The text without Reeve's entries, and without the groups and lists that only they were in.
std::expected<std::string, std::string> remove_hook(HookDialect dialect, std::string_view text);

// The `hooks` of a settings file that one run brings along: the entry for all tools, which may wait that long and
// denies every call outside of a run.
base::Value make_run_hooks(HookDialect dialect, const std::string& program, int seconds);

// Whether a command of a hook is `reeve hook DIALECT` with options of it and nothing else, whatever the path of the
// program.
bool is_own_command(HookDialect dialect, std::string_view command);

}  // namespace reeve::agents
