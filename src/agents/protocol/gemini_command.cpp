#include "agents/protocol/gemini_command.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agents/hook_settings.h"
#include "base/hash.h"
#include "base/value.h"
#include "json/encode.h"

namespace reeve::agents {

namespace {

using base::Value;

// Node takes a longer timer, over 2^31 ms, for one of 1 ms, and after a timeout the call runs.
constexpr int max_hook_seconds = 2'000'000;
constexpr int min_hook_seconds = hook_margin_seconds + 1;
constexpr std::string_view settings_name = "gemini-settings.json";

// Gemini gives a project's `.env` to itself and to its hooks, but only variables that are not set. With these, a
// project could make the shell that starts the hook, or the hook itself, end with "no opinion".
constexpr auto loader_variables = std::to_array<std::string_view>(
    {"BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "NODE_OPTIONS", "NODE_PATH"});
// The same for the hook alone: a shell that finds them set passes its own options on to all shells below it.
constexpr auto shell_variables = std::to_array<std::string_view>({"SHELLOPTS", "BASHOPTS"});

Value* find_member(Value& object, std::string_view key) {
  Value::Object* members = object.as_object();
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, key, &base::Member::key);
  return found != members->end() ? &found->value : nullptr;
}

// A project can switch off hooks whose name it knows, and replace one with the same name and command.
std::string hidden_name(const AgentSetup& setup) {
  return "reeve-" + base::sha256_hex(fmt::format("gemini\n{}\n{}", setup.secret, setup.private_folder)).substr(0, 32);
}

Value make_hooks(const AgentSetup& setup) {
  const int seconds = std::clamp(setup.hook_seconds, min_hook_seconds, max_hook_seconds);
  Value hooks = make_run_hooks(HookDialect::gemini, setup.reeve_program, seconds);
  Value environment = Value::object();
  for (const std::string_view name : shell_variables) environment.set(name, Value::string(""));
  for (base::Member& event : *hooks.as_object()) {
    for (Value& group : *event.value.as_array()) {
      // One after the other: Reeve's comes last and sees what the hooks of a project made of the arguments.
      group.set("sequential", Value::boolean(true));
      for (Value& hook : *find_member(group, "hooks")->as_array()) {
        *find_member(hook, "name") = Value::string(hidden_name(setup));
        hook.set("env", environment);
      }
    }
  }
  return hooks;
}

// As system settings they override those of the person and of the project; lists are joined.
Value make_settings(const AgentSetup& setup) {
  const Value off = Value::boolean(false);
  return Value::object(
      {{"hooks", make_hooks(setup)},
       // The entry of `reeve hook install` would ask about every call again.
       {"hooksConfig",
        Value::object({{"enabled", Value::boolean(true)}, {"disabled", Value::array({Value::string("reeve")})}})},
       // In Gemini's own sandbox the hook cannot be started, and a hook that does not start allows the call.
       {"tools",
        Value::object({{"sandbox", off}, {"discoveryCommand", Value::string("")}, {"callCommand", Value::string("")}})},
       // An editor could say that the folder is not trusted, which switches all hooks off.
       {"ide", Value::object({{"enabled", off}})},
       {"general", Value::object({{"enableAutoUpdate", off}, {"enableAutoUpdateNotification", off}})},
       {"privacy", Value::object({{"usageStatisticsEnabled", off}})},
       {"telemetry", Value::object({{"enabled", off}})}});
}

}  // namespace

std::string literal_gemini_prompt(std::string_view prompt) {
  // After which an "@" names nothing.
  constexpr std::string_view delimiters = " \t\n\r,;!?()[]{}";
  std::string literal = prompt.starts_with('/') ? "Task: " : "";
  for (std::size_t at = 0; at < prompt.size(); ++at) {
    const bool is_escaped = at > 0 && prompt[at - 1] == '\\';
    const bool names = at + 1 < prompt.size() && !delimiters.contains(prompt[at + 1]);
    if (prompt[at] == '@' && names && !is_escaped) literal += '\\';
    literal += prompt[at];
  }
  return literal;
}

AgentCommand make_gemini_command(const AgentSetup& setup) {
  AgentCommand command;
  command.argv = setup.command;
  // No MCP server has that name: those of a project would be started without asking.
  command.argv.push_back("--allowed-mcp-server-names=" + hidden_name(setup));
  for (const char* word : {"-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"}) {
    command.argv.emplace_back(word);
  }
  if (setup.model) command.argv.push_back("--model=" + *setup.model);
  if (setup.resumes) command.argv.push_back("--resume=" + setup.session);
  command.environment = {{"GEMINI_CLI_SYSTEM_SETTINGS_PATH", fmt::format("{}/{}", setup.private_folder, settings_name)},
                         {"GEMINI_SANDBOX", "false"},
                         {"GEMINI_TELEMETRY_ENABLED", "false"}};
  for (const std::string_view name : loader_variables) command.default_variables.emplace(name, "");
  // Gemini would look for it beside the system settings.
  command.default_variables.emplace("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "/etc/gemini-cli/system-defaults.json");
  command.files.push_back({std::string(settings_name), json::encode_pretty(make_settings(setup)) + "\n"});
  command.input = literal_gemini_prompt(setup.prompt);
  return command;
}

}  // namespace reeve::agents
