#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/describe.h"

// Policies for agents' tool calls (SPEC §5, TOOL-1).
namespace reeve::model {

// From the loosest to the strictest.
enum class Policy { auto_approve, require_approval, deny };
REEVE_DESCRIBE_ENUM(Policy, auto_approve, require_approval, deny)

// One rule in the policy of a tool. Rules with `when` are checked before those without.
struct PolicyRule {
  Policy policy = Policy::require_approval;
  // Argument → glob; all must match the parsed arguments. Empty: always.
  std::map<std::string, std::string> when;
  // Confirms that loosening a default `deny` is intended.
  bool even_if_denied = false;
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyRule, (), (policy, when, even_if_denied))

using ToolPolicies = std::map<std::string, std::vector<PolicyRule>>;

// Tool → default policy (S4 §6); unlisted tools are `require_approval`.
const std::map<std::string, Policy, std::less<>>& default_policies();
// Role → tool → default policy (S4 §6, AGT-3).
const std::map<std::string, std::map<std::string, Policy, std::less<>>, std::less<>>& default_role_policies();

}  // namespace reeve::model
