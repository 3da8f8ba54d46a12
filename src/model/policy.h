#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "model/describe.h"

// Policies for agents' tool calls (SPEC §5, TOOL-1).
namespace reeve::model {

// From the loosest to the strictest.
enum class Policy { auto_approve, require_approval, deny };
REEVE_DESCRIBE_ENUM(Policy, auto_approve, require_approval, deny)

// Condition → text, list of texts or, for `argv`, one or several lists of texts. `path`, `program`, `argv`, `sandbox`,
// `network`, `role` and `project` (TOOL-8); any other name is an argument of the call, with a glob.
using PolicyConditions = std::map<std::string, base::Value>;

// One rule in the policy of a tool. Rules with `when` are checked before those without.
struct PolicyRule {
  Policy policy = Policy::require_approval;
  // All must match the parsed arguments. Empty: always.
  PolicyConditions when;
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
