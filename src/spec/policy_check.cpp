#include "spec/policy_check.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "model/policy_conditions.h"
#include "model/program_kinds.h"
#include "spec/references.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;
using model::Policy;
using model::PolicyRule;
using Texts = std::vector<std::string>;

struct ConditionFault {
  // Empty for the rule as a whole.
  std::string condition;
  std::string message;
  std::string fix;
  // It would approve more of the shell than it says.
  bool is_of_shell = false;
};

// Tools of Reeve whose calls name no files.
constexpr auto tools_without_paths =
    std::to_array<std::string_view>({"shell_execute", "web_fetch", "web_search", "git_commit", "git_push", "force_push",
                                     "task_status", "task_assign", "agent_spawn", "agent_stop"});

ConditionFault not_for_tool(const std::string& name, std::string_view tool, std::string_view fix) {
  return {name, fmt::format("`{}` does not apply to {}", name, base::quoted(tool)), std::string(fix)};
}

std::optional<ConditionFault> find_program_fault(const Texts& programs, bool approves) {
  for (const std::string& program : programs) {
    const std::vector<std::string_view> words = base::split(program, ' ');
    const bool is_name =
        !words.front().empty() && !words.back().empty() && words.size() <= 2 && !words.back().starts_with('-');
    if (!is_name) {
      return ConditionFault{"program", fmt::format("{} is not a program with its subcommand", base::quoted(program)),
                            "write it as `git status`; for anything longer, use `argv`"};
    }
    const bool is_relative = words.front().contains('/') && !words.front().starts_with('/');
    if (is_relative) {
      return ConditionFault{"program", fmt::format("{} is a path in the worktree", base::quoted(words.front())),
                            "write the name of a program, or its absolute path"};
    }
    const auto objection =
        approves ? model::find_program_objection(words.front(), words.size() > 1 ? words[1] : "") : std::nullopt;
    if (objection) {
      return ConditionFault{"program", fmt::format("{} cannot be approved by its name", base::quoted(program)),
                            *objection, true};
    }
  }
  return std::nullopt;
}

std::optional<ConditionFault> find_value_fault(const std::string& name, const base::Value& value, bool approves) {
  const auto texts = model::find_condition_texts(value);
  if (name == "argv") {
    if (model::find_condition_argvs(value)) return std::nullopt;
    return ConditionFault{name, "`argv` is not an argument vector", "write it as a list: [git, status]"};
  }
  if (!texts || std::ranges::find(*texts, "") != texts->end()) {
    return ConditionFault{name, fmt::format("{} needs a text or a list of texts", base::quoted(name)), {}};
  }
  if (name == "program") return find_program_fault(*texts, approves);
  const auto is_sandbox = [](const std::string& word) { return word == "guard" || word == "none"; };
  if (name == "sandbox" && !std::ranges::all_of(*texts, is_sandbox)) {
    return ConditionFault{name, "`sandbox` is `guard` or `none`", {}};
  }
  return std::nullopt;
}

// Why a rule cannot be meant like this, with what to write instead.
std::optional<ConditionFault> find_condition_fault(std::string_view tool, const model::PolicyRule& rule) {
  const bool is_shell = tool == "shell_execute";
  const bool approves = rule.policy == Policy::auto_approve;
  for (const auto& [name, value] : rule.when) {
    if (auto fault = find_value_fault(name, value, approves)) return fault;
    const bool is_of_shell = name == "program" || name == "argv";
    if (is_of_shell && !is_shell) return not_for_tool(name, tool, "use it in rules for `shell_execute`");
    const bool has_no_paths = std::ranges::find(tools_without_paths, tool) != tools_without_paths.end();
    if (name == "path" && has_no_paths) {
      return not_for_tool(name, tool, is_shell ? "use `program` or `argv`" : "remove it");
    }
    if (is_shell && approves && !model::is_condition(name)) {
      return ConditionFault{"", "shell commands cannot be approved by pattern",
                            "use `argv` for exact commands, or `program` for a program with its subcommand"};
    }
  }
  const bool names_command = rule.when.contains("argv") || rule.when.contains("program") ||
                             rule.when.contains("sandbox") || rule.when.contains("network");
  if (is_shell && approves && !rule.when.empty() && !names_command) {
    return ConditionFault{"", "shell commands cannot be approved without `argv` or `program`",
                          "add `argv` for exact commands, or `program` for a program with its subcommand"};
  }
  return std::nullopt;
}

// The condition in the `when` of the rule with this index, or the nearest node around it.
const YamlNode& place_of(const YamlNode& rules, std::size_t index, const std::string& condition) {
  const YamlNode* rule = rules.kind == YamlKind::sequence ? rules.at(index) : &rules;
  if (rule == nullptr) return rules;
  if (condition.empty()) return *rule;
  const YamlNode* when = rule->find("when");
  const YamlNode* found = when != nullptr ? when->find(condition) : nullptr;
  return found != nullptr ? *found : *rule;
}

// Conditions, and what a rule may not approve.
void check_rule(const std::string& tool, const PolicyRule& rule, std::size_t index, const YamlNode& rules,
                Binder& binder) {
  if (const auto fault = find_condition_fault(tool, rule)) {
    const bool is_shell = fault->condition.empty() || fault->is_of_shell;
    binder.report(place_of(rules, index, fault->condition),
                  is_shell ? ErrorCode::config_shell_pattern : ErrorCode::config_bad_condition, fault->message,
                  fault->fix);
  }
  if (tool != "shell_execute" || rule.policy != Policy::auto_approve || !rule.when.empty()) return;
  binder.warn(rules, ErrorCode::config_shell_pattern,
              "shell commands are never approved without `when`: a person is asked",
              "add `when` with `argv` for exact commands, or with `program` for a program with its subcommand");
}

void check_rules(const std::string& tool, const std::vector<PolicyRule>& rules, const YamlNode& place, bool is_denied,
                 Binder& binder) {
  if (rules.empty() && place.kind == YamlKind::sequence) {
    binder.report(place, ErrorCode::config_no_rule, fmt::format("no rule for {}", base::quoted(tool)),
                  "add a rule, or remove the key");
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PolicyRule& rule = rules[i];
    if (is_denied && rule.policy != Policy::deny && !rule.even_if_denied) {
      binder.report(
          place, ErrorCode::config_loosens_deny,
          fmt::format("{} is denied; this rule would allow it", base::quoted(tool)),
          fmt::format("if that is intended, write {{policy: {}, even_if_denied: true}}", base::spell(rule.policy)));
    }
    check_rule(tool, rule, i, place, binder);
  }
}

bool is_denied_by_default(const std::string& tool) {
  const auto found = model::default_policies().find(tool);
  return found != model::default_policies().end() && found->second == Policy::deny;
}

// For example, S4: a witness may not write files.
bool is_denied_to_role_by_default(const std::string& role, const std::string& tool) {
  const auto of_role = model::default_role_policies().find(role);
  if (of_role == model::default_role_policies().end()) return false;
  const auto found = of_role->second.find(tool);
  return found != of_role->second.end() && found->second == Policy::deny;
}

// The node at this path, or its nearest existing ancestor.
const YamlNode& node_at(const YamlNode& root, std::initializer_list<std::string_view> path) {
  const YamlNode* place = &root;
  for (const std::string_view key : path) {
    const YamlNode* found = place->find(key);
    if (found == nullptr) break;
    place = found;
  }
  return *place;
}

}  // namespace

void check_policies(const model::Config& config, const YamlNode& root, Binder& binder) {
  for (const auto& [tool, rules] : config.policies.tools) {
    check_rules(tool, rules, node_at(root, {"policies", "tools", tool}), is_denied_by_default(tool), binder);
  }
  for (const auto& [role, tools] : config.policies.roles) {
    const YamlNode* key = node_at(root, {"policies", "roles"}).find_key(role);
    check_role(role, config, key != nullptr ? *key : root, binder);
    for (const auto& [tool, rules] : tools) {
      const auto set = config.policies.tools.find(tool);
      const bool is_denied_by_role = is_denied_to_role_by_default(role, tool);
      const bool is_denied =
          set == config.policies.tools.end()
              ? is_denied_by_default(tool)
              : std::ranges::any_of(set->second, [](const PolicyRule& rule) { return rule.policy == Policy::deny; });
      check_rules(tool, rules, node_at(root, {"policies", "roles", role, tool}), is_denied || is_denied_by_role,
                  binder);
    }
  }
}

}  // namespace reeve::spec
