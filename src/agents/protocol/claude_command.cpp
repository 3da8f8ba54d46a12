#include "agents/protocol/claude_command.h"

#include <cmath>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "agents/hook_settings.h"
#include "agents/protocol/claude_lines.h"
#include "base/text.h"
#include "json/encode.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::string_view claude_file = "claude-settings.json";
constexpr std::string_view qwen_file = "qwen-settings.json";

std::vector<std::string> first_words(const AgentSetup& setup, std::string_view program) {
  return setup.command.empty() ? std::vector<std::string>{std::string(program)} : setup.command;
}

void add(AgentCommand& command, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) command.argv.emplace_back(word);
}

std::string path_of(const AgentSetup& setup, std::string_view file) {
  return fmt::format("{}/{}", setup.private_folder, file);
}

// Reeve's own MCP server, by its name.
Value own_servers(const AgentSetup& setup) {
  Value server =
      Value::object({{"command", Value::string(setup.reeve_program)}, {"args", Value::array({Value::string("mcp")})}});
  return Value::object({{"reeve", std::move(server)}});
}

// Measured with Claude Code 2.1.325, except for `disableAllHooks` and `sandbox`, which its documentation describes.
AgentFile claude_settings(const AgentSetup& setup) {
  Value settings =
      Value::object({{"hooks", make_run_hooks(HookDialect::claude, setup.reeve_program, setup.hook_seconds)},
                     {"disableAllHooks", Value::boolean(false)}});
  if (setup.is_confined) settings.set("sandbox", Value::object({{"enabled", Value::boolean(false)}}));
  return {std::string(claude_file), json::encode_pretty(settings) + "\n"};
}

// Measured with Qwen Code 0.24.4: these `hooks` in the user's settings. Documented only: system settings are read from
// the path in the variable, and override those of user and project. Versions before pull request 12077 (September 2026)
// skip hooks of system settings if both user and project have hooks; then calls have results without a gate.
AgentFile qwen_settings(const AgentSetup& setup) {
  const Value settings =
      Value::object({{"hooks", make_run_hooks(HookDialect::qwen, setup.reeve_program, setup.hook_seconds)},
                     {"disableAllHooks", Value::boolean(false)},
                     {"mcpServers", own_servers(setup)},
                     {"general", Value::object({{"enableAutoUpdate", Value::boolean(false)}})},
                     {"privacy", Value::object({{"usageStatisticsEnabled", Value::boolean(false)}})}});
  return {std::string(qwen_file), json::encode_pretty(settings) + "\n"};
}

}  // namespace

AgentCommand make_claude_command(const AgentSetup& setup) {
  AgentCommand command;
  command.argv = first_words(setup, "claude");
  add(command, {"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
                "--permission-prompt-tool", "stdio", "--permission-mode", "default", "--include-partial-messages"});
  // Settings and servers of the repository do not count.
  add(command, {"--setting-sources", "user", "--strict-mcp-config", "--mcp-config",
                json::encode(Value::object({{"mcpServers", own_servers(setup)}}))});
  if (is_session_id(setup.session)) add(command, {setup.resumes ? "--resume" : "--session-id", setup.session});
  if (setup.model) add(command, {"--model", *setup.model});
  if (setup.budget_usd && std::isfinite(*setup.budget_usd)) {
    add(command, {"--max-budget-usd", fmt::format("{}", *setup.budget_usd)});
  }
  add(command, {"--settings", path_of(setup, claude_file)});
  command.environment = {{"DISABLE_AUTOUPDATER", "1"},
                         {"DISABLE_TELEMETRY", "1"},
                         {"DISABLE_ERROR_REPORTING", "1"},
                         {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}};
  // The first switches hooks off; with the second it refuses to start inside another Claude Code.
  command.removed_variables = {"CLAUDE_CODE_SIMPLE", "CLAUDECODE"};
  command.files.push_back(claude_settings(setup));
  return command;
}

AgentCommand make_qwen_command(const AgentSetup& setup) {
  AgentCommand command;
  command.argv = first_words(setup, "qwen");
  // In another mode the tools that would ask are not offered to the model. Servers of the repository do not start.
  add(command, {"-o", "stream-json", "--approval-mode", "yolo", "--allowed-mcp-server-names=reeve"});
  // In one word: a value that begins with a dash would be taken for an option.
  if (is_session_id(setup.session)) {
    add(command, {fmt::format("--{}={}", setup.resumes ? "resume" : "session-id", setup.session)});
  }
  if (setup.model) add(command, {fmt::format("--model={}", *setup.model)});
  // A variable that is set is not replaced by a `.env` of the repository, in which the two modes without hooks, and
  // retries without an end, could be switched on.
  command.environment = {{"QWEN_CODE_SYSTEM_SETTINGS_PATH", path_of(setup, qwen_file)},
                         {"QWEN_CODE_SAFE_MODE", "0"},
                         {"QWEN_CODE_SIMPLE", "0"},
                         {"QWEN_CODE_UNATTENDED_RETRY", "0"}};
  if (setup.is_confined) command.environment["QWEN_SANDBOX"] = "false";
  command.files.push_back(qwen_settings(setup));
  // Without a prompt it would end at once.
  command.input = setup.prompt.empty() ? "Go on." : base::replace_invalid_utf8(setup.prompt);
  return command;
}

}  // namespace reeve::agents
