#include "engine/policy.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/glob.h"
#include "engine/condition.h"

namespace reeve::engine {

namespace {

using model::Policy;
using model::PolicyRule;

// Only texts are matched: what a pattern means for a number or an object nobody could say.
bool fits(const PolicyRule& rule, const base::Value& arguments) {
  return std::ranges::all_of(rule.when, [&](const auto& entry) {
    const base::Value* argument = find_field(arguments, entry.first);
    return argument != nullptr && argument->as_string() != nullptr &&
           base::matches_glob(entry.second, *argument->as_string());
  });
}

std::optional<Policy> find_rule(const model::ToolPolicies& tools, std::string_view tool, const base::Value& arguments) {
  const auto found = tools.find(std::string(tool));
  if (found == tools.end()) return std::nullopt;
  for (const bool with_arguments : {true, false}) {
    for (const PolicyRule& rule : found->second) {
      if (rule.when.empty() != with_arguments && fits(rule, arguments)) return rule.policy;
    }
  }
  return std::nullopt;
}

std::optional<Policy> find_role_default(std::string_view role, std::string_view tool) {
  const auto of_role = model::default_role_policies().find(role);
  if (of_role == model::default_role_policies().end()) return std::nullopt;
  const auto found = of_role->second.find(tool);
  return found != of_role->second.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace

PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments) {
  if (const auto of_role = policies.roles.find(std::string(role)); of_role != policies.roles.end()) {
    if (const auto policy = find_rule(of_role->second, tool, arguments)) {
      return {*policy, fmt::format("policies.roles.{}.{}", role, tool)};
    }
  }
  const auto configured = find_rule(policies.tools, tool, arguments);
  if (const auto by_default = find_role_default(role, tool); by_default && (!configured || *by_default > *configured)) {
    return {*by_default, fmt::format("default of the role {}", role)};
  }
  if (configured) return {*configured, fmt::format("policies.tools.{}", tool)};
  if (const auto found = model::default_policies().find(tool); found != model::default_policies().end()) {
    return {found->second, "default"};
  }
  return {Policy::require_approval, "unknown tool"};
}

}  // namespace reeve::engine
