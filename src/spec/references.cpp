#include "spec/references.h"

#include <algorithm>

#include "model/agent.h"
#include "model/template.h"
#include "spec/dropped_input.h"

namespace reeve::spec {

using base::ErrorCode;

std::vector<std::string> known_roles(const model::Config& config) {
  std::vector<std::string> roles = model::built_in_roles();
  roles.emplace_back(model::noop_role);
  for (const auto& [name, _] : config.roles) {
    if (std::ranges::find(roles, name) == roles.end()) roles.push_back(name);
  }
  return roles;
}

void check_name(const std::string& id, std::string_view noun, const YamlNode& place, Binder& binder) {
  const bool is_plain = std::ranges::all_of(
      id, [](char c) { return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_' || c == '-'; });
  if (is_plain && id.size() <= base::limits::name_bytes) return;
  binder.report(
      place, ErrorCode::flow_bad_id, fmt::format("{} is not a valid {} id", base::quoted(id), noun),
      fmt::format("use at most {} letters, digits, `_` and `-`; a `label` may be any text", base::limits::name_bytes));
}

void check_role(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder) {
  const std::vector<std::string> known = known_roles(config);
  if (role.empty() || std::ranges::find(known, role) != known.end()) return;
  binder.report_unknown(place, binder.codes().unknown_role, "role", role, known).fix =
      "add it under `roles:` in the config, with its tool";
}

void check_role_tool(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder,
                     base::Severity severity) {
  const std::vector<std::string> known = known_roles(config);
  const auto words = config.roles.find(role);
  const bool has_tool = words != config.roles.end() && words->second.tool;
  const bool is_known = std::ranges::find(known, role) != known.end();
  if (!is_known || role == model::noop_role) return;
  if (has_tool || config.tools.size() == 1) {
    const auto tool = has_tool ? config.tools.find(*words->second.tool) : config.tools.begin();
    // A start refuses this with its own error code.
    const bool is_unsafe = tool != config.tools.end() && tool->second.headless == model::Headless::unsupported;
    if (!is_unsafe || severity == base::Severity::error) return;
    binder.warn(
        place, ErrorCode::flow_headless_unsupported,
        fmt::format("the tool {} of the role {} cannot run unattended: its profile says `headless: unsupported`",
                    base::quoted(tool->first), base::quoted(role)),
        "choose another tool for the role");
    return;
  }
  const std::string message =
      config.tools.empty() ? fmt::format("the role {} has no tool, and the config defines none", base::quoted(role))
                           : fmt::format("the role {} has no tool, and the config defines several: {}",
                                         base::quoted(role), base::join(keys_of(config.tools), ", "));
  const std::string fix =
      config.tools.empty()
          ? fmt::format("add a tool to the config: tools: {{claude: {{command: [claude, -p, \"{{prompt}}\"]}}}}")
          : fmt::format("choose one in the config: roles: {{{}: {{tool: {}}}}}", role, config.tools.begin()->first);
  if (severity == base::Severity::error) {
    binder.report(place, binder.codes().role_without_tool, message, fix);
  } else {
    binder.warn(place, binder.codes().role_without_tool, message, fix);
  }
}

void check_tool(const std::string& tool, const model::Config& config, const YamlNode& place, Binder& binder) {
  const auto found = config.tools.find(tool);
  if (found == config.tools.end()) {
    binder.report_unknown(place, ErrorCode::flow_unknown_tool, "tool", tool, keys_of(config.tools)).fix =
        "add it under `tools:` in the config";
  } else if (found->second.headless == model::Headless::unsupported) {
    binder.warn(
        place, ErrorCode::flow_headless_unsupported,
        fmt::format("the tool {} cannot run unattended: its profile says `headless: unsupported`", base::quoted(tool)),
        "choose another tool");
  }
}

void check_role_prompt(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder) {
  const auto found = config.roles.find(role);
  if (found == config.roles.end() || !drops_input(found->second.prompt, found->second.prompt_takes_input)) return;
  binder.warn(place, ErrorCode::flow_prompt_without_input,
              fmt::format("the prompt of the role {} has no `{{input}}`: the task is appended", base::quoted(role)),
              input_fix);
}

void check_template(const std::string& text, const YamlNode& place, Binder& binder) {
  const auto pieces = model::parse_template(text);
  if (pieces) return;
  binder.report(place, binder.codes().bad_template, pieces.error().message,
                "put names in braces, like `{input}`; write `{{` and `}}` for literal braces");
}

}  // namespace reeve::spec
