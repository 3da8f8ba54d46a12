#include "cli/commands/change_hook.h"

#include <expected>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "agents/hook_settings.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/gate/line_change.h"
#include "cli/gate/settings_file.h"
#include "cli/live/ask_person.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using agents::HookDialect;
using base::Error;
using base::ErrorCode;
using base::Value;

constexpr mode_t user_mode = 0600;
constexpr mode_t project_mode = 0644;

bool is_project(const Call& call) { return call.arguments.has("--project"); }

SettingsPath find_settings(const Call& call, HookDialect dialect) {
  const agents::SettingsPlace place = agents::settings_place(dialect);
  if (is_project(call)) return {fs::current_path(), place.folder, place.file};
  const auto own = place.variable.empty() ? std::nullopt : project::variable(place.variable.c_str());
  if (own) return {*own, "", place.file};
  const auto home = project::variable("HOME");
  if (!home) throw Error(ErrorCode::cli_usage, "HOME is not set, so the user's settings cannot be found", "--project");
  return {*home, place.folder, place.file};
}

std::expected<std::string, std::string> make_text(const Call& call, HookChange change, HookDialect dialect,
                                                  const std::string& before) {
  if (change == HookChange::install) {
    return agents::add_hook(
        dialect, before,
        {.program = fs::read_symlink("/proc/self/exe"), .is_required = call.arguments.has("--require")});
  }
  if (base::trim(before).empty()) return before;
  return agents::remove_hook(dialect, before);
}

void check_caller(HookChange change) {
  if (!is_inside_run()) return;
  throw Error(
      ErrorCode::config_denied,
      fmt::format("a process inside a run cannot {} a hook", change == HookChange::install ? "install" : "remove"),
      "run it outside of the run");
}

bool ask(std::string_view what) {
  const auto line = ask_line(fmt::format("{} [y/N] ", what));
  const std::string word = base::to_ascii_lower(line.value_or(std::string()));
  return word == "y" || word == "yes";
}

// What the entry alone does not achieve.
void print_notes(const Call& call, HookDialect dialect) {
  if (call.is_json) return;
  if (dialect == HookDialect::codex) {
    print_aside(
        "note: Codex skips a hook that you have not trusted, without a word. Start `codex`, enter /hooks and trust "
        "it;\n"
        "  after every change of the entry again.{}\n",
        is_project(call) ? " The project must be trusted as well." : "");
  }
  if (dialect == HookDialect::gemini) {
    print_aside(
        "note: Gemini CLI runs no hooks in its ACP mode (`gemini --acp`), and names no call: what becomes of its "
        "calls\n"
        "  is shown as `lost`, not reported.\n");
  }
}

void print_result(const Call& call, HookDialect dialect, const SettingsPath& path, std::string_view what,
                  bool is_changed) {
  if (!call.is_json) {
    fmt::print("{}: {}\n", base::visible(path.text().string()), what);
    return;
  }
  print_json(call, Value::object({{"agent", Value::string(base::spell(dialect))},
                                  {"path", Value::string(base::replace_invalid_utf8(path.text().string()))},
                                  {"changed", Value::boolean(is_changed)}}));
}

}  // namespace

ExitCode change_hook(const Call& call, HookChange change) {
  const bool is_install = change == HookChange::install;
  refuse_host(call, is_install ? "hook install" : "hook uninstall");
  check_caller(change);
  if (is_project(call) && call.arguments.has("--user")) {
    throw Error(ErrorCode::cli_usage, "`--user` and `--project` exclude each other", "");
  }
  const auto dialect = base::find_enum<HookDialect>(call.arguments.positional(0)).value();
  const SettingsPath path = find_settings(call, dialect);
  SettingsFile file(path);
  const std::string before = file.text().value_or(std::string());
  const auto after = make_text(call, change, dialect, before);
  if (!after) {
    throw Error(ErrorCode::file_unreadable,
                fmt::format("{} cannot be edited: {}", base::quoted(path.text().string()), after.error()),
                "correct the file, or edit it by hand; nothing was changed");
  }
  if (*after == before) {
    print_result(call, dialect, path, is_install ? "the hook is installed already" : "no hook of Reeve", false);
    if (is_install) print_notes(call, dialect);
    return ExitCode::done;
  }
  if (!call.is_json) {
    fmt::print("{}\n{}", base::visible(path.text().string()), describe_line_change(before, *after, call.out));
    std::fflush(stdout);
  }
  if (!call.arguments.has("--yes")) {
    if (call.is_json || !can_ask()) {
      throw Error(ErrorCode::cli_usage, "cannot ask for confirmation here; nothing was changed", "add --yes");
    }
    if (!ask("Write this?")) throw Error(ErrorCode::cli_given_up, "nothing was changed");
  }
  file.replace(*after, is_project(call) ? project_mode : user_mode);
  print_result(call, dialect, path, is_install ? "installed" : "removed", true);
  if (is_install) print_notes(call, dialect);
  return ExitCode::done;
}

std::vector<Positional> hook_change_positionals() {
  return {{.name = "AGENT", .help = "claude, codex, gemini or qwen", .choices = {"claude", "codex", "gemini", "qwen"}}};
}

std::vector<Option> hook_change_options(HookChange change) {
  std::vector<Option> options = {{.name = "--user", .help = "the settings in your home (default)"},
                                 {.name = "--project", .help = "the settings in the current folder"},
                                 {.name = "--yes", .help = "do not ask"}};
  if (change == HookChange::install) {
    options.push_back({.name = "--require", .help = "deny outside a run; an entry that does so keeps it"});
  }
  return options;
}

}  // namespace reeve::cli
