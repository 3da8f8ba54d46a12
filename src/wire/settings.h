#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/config.h"
#include "model/describe.h"

// The daemon's config as the API returns it.
namespace reeve::wire {

// Values of secret variables are `***`.
struct ToolRecord : model::ToolProfile {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(ToolRecord, (model::ToolProfile), (name))

struct RoleRecord : model::Role {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(RoleRecord, (model::Role), (name))

// Values of secret variables are `***`.
struct GateRecord : model::Gate {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(GateRecord, (model::Gate), (name))

// How the calls of one tool profile of the config reach the gate.
struct GatedTool {
  std::string tool;
  // Every call passes the gate before it runs, as far as the tool itself keeps to it.
  bool is_gated = false;
  // How, or what is missing.
  std::string about;
  friend bool operator==(const GatedTool&, const GatedTool&) = default;
};
BOOST_DESCRIBE_STRUCT(GatedTool, (), (tool, is_gated, about))

// The defaults, used where the config has no rule (S4 §6).
struct PolicyDefaults {
  std::map<std::string, model::Policy, std::less<>> tools;
  std::map<std::string, std::map<std::string, model::Policy, std::less<>>, std::less<>> roles;
  // For a tool without any rule.
  model::Policy unknown_tool = model::Policy::require_approval;
  friend bool operator==(const PolicyDefaults&, const PolicyDefaults&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyDefaults, (), (tools, roles, unknown_tool))

struct PolicyTable {
  // The rules of the config.
  model::Policies policies;
  PolicyDefaults defaults;
  // Rules with a condition that matches nothing, and why.
  std::vector<std::string> inert;
  // Every tool profile of the config.
  std::vector<GatedTool> channels;
};
BOOST_DESCRIBE_STRUCT(PolicyTable, (), (policies, defaults, inert, channels))

// A value from a project's file that has no effect: SPEC §7, "Trust".
struct IgnoredConfig {
  base::Value value;
  // "file:line".
  std::string origin;
  std::string reason;
  friend bool operator==(const IgnoredConfig&, const IgnoredConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(IgnoredConfig, (), (value, origin, reason))

// One effective config value; secrets are masked.
struct ConfigItem {
  // "tools.claude.timeout".
  std::string key;
  base::Value value;
  // "file:line", an environment variable, or "default".
  std::string origin;
  // The project's value, if it was ignored.
  std::optional<IgnoredConfig> ignored;
  friend bool operator==(const ConfigItem&, const ConfigItem&) = default;
};
BOOST_DESCRIBE_STRUCT(ConfigItem, (), (key, value, origin, ignored))

struct ConfigTable {
  std::vector<ConfigItem> entries;
};
BOOST_DESCRIBE_STRUCT(ConfigTable, (), (entries))

// The body of POST /api/policy/check (TOOL-1).
struct PolicyQuestion {
  std::string tool;
  std::optional<std::string> role;
  std::optional<base::Value> arguments;
  // A folder of the project whose config applies, absolute; default: the daemon's project.
  std::optional<std::string> project;
  // The tool profile that calls; its sandbox counts.
  std::optional<std::string> agent;
  // The folder that the call works in, absolute; default: the project.
  std::optional<std::string> cwd;
};
BOOST_DESCRIBE_STRUCT(PolicyQuestion, (), (tool, role, arguments, project, agent, cwd))

struct PolicyAnswer {
  // Reeve's name of the tool.
  std::string tool;
  std::optional<std::string> role;
  model::Policy policy = model::Policy::require_approval;
  // The deciding rule: "policies.roles.mayor.git_commit", "default", "unknown tool".
  std::string source;
};
BOOST_DESCRIBE_STRUCT(PolicyAnswer, (), (tool, role, policy, source))

}  // namespace reeve::wire
