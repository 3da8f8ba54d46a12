#include "agents/protocol/opencode_command.h"

#include <array>
#include <charconv>

#include "agents/protocol/agent_message.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

// opencode merges settings member by member and takes the last rule that matches, so that "*" alone would leave
// `{"*": "allow", "bash": "allow"}` of other settings half in force.
constexpr auto asked_permissions = std::to_array<std::string_view>(
    {"*", "read", "edit", "glob", "grep", "list", "bash", "task", "skill", "lsp", "todowrite", "todoread", "webfetch",
     "websearch", "codesearch", "external_directory", "doom_loop"});
// Tools that wait for a person at opencode's own screen, or run other tools without a permission of their own.
constexpr auto denied_permissions = std::to_array<std::string_view>({"question", "plan_enter", "plan_exit", "batch"});

Value make_permissions() {
  Value permissions = Value::object();
  for (const std::string_view name : asked_permissions) permissions.set(name, Value::string("ask"));
  for (const std::string_view name : denied_permissions) permissions.set(name, Value::string("deny"));
  return permissions;
}

// Later than the person's global settings, and than those of the project, which are switched off. Providers, models and
// MCP servers stay those of the person.
Value make_settings(const AgentSetup& setup) {
  Value settings = Value::object({{"permission", make_permissions()},
                                  {"autoupdate", Value::boolean(false)},
                                  {"share", Value::string("disabled")},
                                  // Both run programs of the project without asking.
                                  {"formatter", Value::boolean(false)},
                                  {"lsp", Value::boolean(false)},
                                  // Without the settings of the project opencode does not look for it.
                                  {"instructions", Value::array({Value::string(setup.folder + "/AGENTS.md")})}});
  if (setup.model) settings.set("model", Value::string(*setup.model));
  return settings;
}

Value make_rule(std::string_view permission, std::string_view action) {
  return Value::object(
      {{"permission", Value::string(permission)}, {"pattern", Value::string("*")}, {"action", Value::string(action)}});
}

bool asks_about_everything(const Value& rule) {
  return json::text_of(rule, "permission") == "*" && json::text_of(rule, "pattern") == "*" &&
         json::text_of(rule, "action") == "ask";
}

}  // namespace

AgentCommand make_opencode_command(const AgentSetup& setup) {
  AgentCommand command;
  command.argv = setup.command;
  // opencode takes port 4096 for 0 if it is free.
  for (const char* word : {"serve", "--hostname", "127.0.0.1", "--port", "0"}) command.argv.emplace_back(word);
  command.environment = {
      {"OPENCODE_CONFIG_CONTENT", json::encode(make_settings(setup))},
      // Applied after all settings files.
      {"OPENCODE_PERMISSION", json::encode(make_permissions())},
      // A project's settings can allow calls, and its plugins run inside opencode.
      {"OPENCODE_DISABLE_PROJECT_CONFIG", "1"},
      {"OPENCODE_DISABLE_AUTOUPDATE", "1"},
      {"OPENCODE_DISABLE_LSP_DOWNLOAD", "1"},
      {"OPENCODE_SERVER_USERNAME", "opencode"},
      // The agent's shell commands inherit it, which is why the gate only `asks`.
      {"OPENCODE_SERVER_PASSWORD", setup.secret},
  };
  return command;
}

Value make_opencode_rules() {
  Value::Array rules = {make_rule("*", "ask")};
  for (const std::string_view name : denied_permissions) rules.push_back(make_rule(name, "deny"));
  return Value::array(std::move(rules));
}

bool has_opencode_rules(const Value& session) {
  const Value::Array* rules = member_of(session, "permission").as_array();
  bool asks = false;
  if (rules == nullptr) return false;
  for (const Value& rule : *rules) {
    if (asks_about_everything(rule)) {
      asks = true;
    } else if (json::text_of(rule, "action") != "deny" && json::text_of(rule, "action") != "ask") {
      asks = false;
    }
  }
  return asks;
}

std::optional<std::string> parse_loopback_address(std::string_view text) {
  for (const std::string_view host : {"http://127.0.0.1:", "http://[::1]:"}) {
    if (!text.starts_with(host)) continue;
    const std::string_view rest = text.substr(host.size());
    int port = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
    const auto digits = static_cast<std::size_t>(stop - rest.data());
    const bool is_port = error == std::errc() && rest.front() != '0' && port > 0 && port <= 65'535;
    std::string_view end = rest.substr(digits);
    if (end.starts_with('/')) end.remove_prefix(1);
    const bool ends = end.empty() || end.front() == ' ' || end.front() == '\r' || end.front() == '\t';
    if (is_port && ends) return std::string(text.substr(0, host.size() + digits));
  }
  return std::nullopt;
}

}  // namespace reeve::agents
