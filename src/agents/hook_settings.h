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
// How long the installed entry lets a hook wait for a person.
inline constexpr int installed_hook_seconds = 3600;
// A hook answers that much earlier than its agent stops waiting: after a timeout the call would run.
inline constexpr int hook_margin_seconds = 10;

// The text with the entry for all tools; unchanged if it is there. An entry of another version is replaced. `program`
// is the absolute path of reeve. The error says why the text cannot be edited. An empty text is a new file.
std::expected<std::string, std::string> add_hook(HookDialect dialect, std::string_view text,
                                                 const std::string& program);
// The text without Reeve's entries, and without the groups and lists that only they were in.
std::expected<std::string, std::string> remove_hook(HookDialect dialect, std::string_view text);

// The `hooks` of a settings file that one run brings along: the entry for all tools, which may wait that long and
// denies every call outside of a run.
base::Value make_run_hooks(HookDialect dialect, const std::string& program, int seconds);

// Whether a command of a hook is `reeve hook DIALECT …`, whatever the path of the program.
bool is_own_command(HookDialect dialect, std::string_view command);

}  // namespace reeve::agents
