#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/policy.h"
#include "spec/source.h"

// Tables of tool calls with the policy that each must get, for `reeve policy test` (TOOL-8).
namespace reeve::spec {

struct PolicyCase {
  // The tool profile that calls.
  std::optional<std::string> agent;
  std::optional<std::string> role;
  std::string tool;
  std::optional<base::Value> arguments;
  // Relative to the project.
  std::optional<std::string> cwd;
  model::Policy expect = model::Policy::require_approval;
  friend bool operator==(const PolicyCase&, const PolicyCase&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyCase, (), (agent, role, tool, arguments, cwd, expect))

struct LocatedPolicyCase {
  PolicyCase call;
  // In the file, from 1.
  std::uint32_t line = 1;
};

inline constexpr std::size_t max_policy_cases = 1'000;

// Parses a list of calls, in YAML or JSON, and reports all problems at once. An empty list is one: it would test
// nothing.
base::Result<std::vector<LocatedPolicyCase>> parse_policy_cases(std::shared_ptr<const Source> source);

}  // namespace reeve::spec
