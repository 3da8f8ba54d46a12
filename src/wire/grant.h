#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"

// Standing grants before they are made (TOOL-8), and what could be granted.
namespace reeve::wire {

// The answer to POST /api/approvals/AP-1/grant-preview.
struct GrantPreview {
  // The extent in words.
  std::string describes;
  // What it covers beyond the call that was asked about; empty for exactly this call in this run.
  std::vector<std::string> also_allows;
  // For `GrantTerms::confirmed`. Empty if no confirmation is needed.
  std::optional<std::string> confirm;
  base::WallTime expires_at;
};
BOOST_DESCRIBE_STRUCT(GrantPreview, (), (describes, also_allows, confirm, expires_at))

// A rule that would have allowed calls that a person approved.
struct PolicySuggestion {
  std::string tool;
  // What the rule covers, in words.
  std::string describes;
  // The rule as YAML, for the config.
  std::string yaml;
  // How many of the approved calls it covers, and the newest of them.
  std::int64_t calls = 0;
  base::CallId example{0};
  friend bool operator==(const PolicySuggestion&, const PolicySuggestion&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicySuggestion, (), (tool, describes, yaml, calls, example))

struct PolicySuggestions {
  // Approved calls that were looked at.
  std::int64_t approved = 0;
  // Those that no rule can cover: interpreters, options that run commands, text that is not one simple command, cut or
  // redacted arguments.
  std::int64_t left_out = 0;
  std::vector<PolicySuggestion> suggestions;
};
BOOST_DESCRIBE_STRUCT(PolicySuggestions, (), (approved, left_out, suggestions))

}  // namespace reeve::wire
