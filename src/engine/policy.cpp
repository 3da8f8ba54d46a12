#include "engine/policy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/glob.h"
#include "engine/condition.h"

namespace reeve::engine {

namespace {

using model::Policy;
using model::PolicyRule;

// A call and the folder it works in.
struct Call {
  const base::Value& arguments;
  const CallPlace& place;
};

bool matches_located(std::string_view pattern, const CallPath& path) {
  while (pattern.starts_with("./")) pattern.remove_prefix(2);
  if (pattern.starts_with('/')) return base::matches_glob(pattern, path.absolute);
  return path.beneath && base::matches_glob(pattern, *path.beneath);
}

// A rule that approves must match every resolved form of the path; a stricter rule needs only one.
bool matches_path(const PolicyRule& rule, std::string_view pattern, const std::string& path, const CallPlace& place) {
  const std::vector<CallPath> all = locate_all(place, path);
  const auto fits = [&](const CallPath& each) { return matches_located(pattern, each); };
  if (rule.policy == Policy::auto_approve) return std::ranges::all_of(all, fits);
  const auto fits_somehow = [&](const CallPath& each) {
    return fits(each) || base::matches_glob(pattern, each.absolute);
  };
  return std::ranges::any_of(all, fits_somehow);
}

// Only strings are matched: a pattern has no defined meaning for a number or an object.
bool fits(const PolicyRule& rule, const Call& call) {
  return std::ranges::all_of(rule.when, [&](const auto& entry) {
    const base::Value* argument = find_field(call.arguments, entry.first);
    if (argument == nullptr || argument->as_string() == nullptr) return false;
    if (names_path(entry.first)) return matches_path(rule, entry.second, *argument->as_string(), call.place);
    return base::matches_glob(entry.second, *argument->as_string());
  });
}

std::optional<Policy> find_rule(const model::ToolPolicies& tools, std::string_view tool, const Call& call) {
  const auto found = tools.find(std::string(tool));
  if (found == tools.end()) return std::nullopt;
  for (const bool with_arguments : {true, false}) {
    for (const PolicyRule& rule : found->second) {
      if (rule.when.empty() != with_arguments && fits(rule, call)) return rule.policy;
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

PolicyVerdict find_verdict(const model::Policies& policies, std::string_view role, std::string_view tool,
                           const Call& call) {
  if (const auto of_role = policies.roles.find(std::string(role)); of_role != policies.roles.end()) {
    if (const auto policy = find_rule(of_role->second, tool, call)) {
      return {*policy, fmt::format("policies.roles.{}.{}", role, tool)};
    }
  }
  const auto configured = find_rule(policies.tools, tool, call);
  if (const auto by_default = find_role_default(role, tool); by_default && (!configured || *by_default > *configured)) {
    return {*by_default, fmt::format("default of the role {}", role)};
  }
  if (configured) return {*configured, fmt::format("policies.tools.{}", tool)};
  if (const auto found = model::default_policies().find(tool); found != model::default_policies().end()) {
    return {found->second, "default"};
  }
  return {Policy::require_approval, "unknown tool"};
}

// Tools whose calls touch files.
struct FileTool {
  std::string_view name;
  bool needs_path;
  bool reads;
};
constexpr auto file_tools = std::to_array<FileTool>({
    {.name = "file_read", .needs_path = true, .reads = true},
    {.name = "list_directory", .needs_path = true, .reads = true},
    {.name = "search_files", .needs_path = true, .reads = true},
    {.name = "git_blame", .needs_path = true, .reads = true},
    {.name = "git_diff", .needs_path = false, .reads = true},
    {.name = "git_log", .needs_path = false, .reads = true},
    {.name = "file_write", .needs_path = false, .reads = false},
});

// TOOL-1: why a call is not auto-approved whatever the rules say; empty if it may be.
std::string_view find_objection(const FileTool& tool, const Call& call) {
  const auto paths = find_paths(call.arguments);
  if (!paths) return "a path that is not a string";
  if (paths->empty() && tool.needs_path) return "no `path`";
  for (const std::string& path : *paths) {
    for (const CallPath& each : locate_all(call.place, path)) {
      if (!each.beneath) return "outside the worktree";
      if (tool.reads && names_secret_file(*each.beneath)) return "a file that may hold secrets";
    }
  }
  // git would take it as an option: `--no-index`, `--output=…`.
  const auto is_option = [](const base::Member& member) {
    const std::string* text = member.value.as_string();
    return text != nullptr && text->starts_with('-');
  };
  const bool is_git = tool.name.starts_with("git_");
  if (is_git && std::ranges::any_of(*call.arguments.as_object(), is_option)) return "a git option";
  return {};
}

}  // namespace

PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments, const CallPlace& place) {
  const Call call{arguments, place};
  PolicyVerdict verdict = find_verdict(policies, role, tool, call);
  const auto file_tool = std::ranges::find(file_tools, tool, &FileTool::name);
  if (verdict.policy != Policy::auto_approve || file_tool == file_tools.end()) return verdict;
  const std::string_view objection = find_objection(*file_tool, call);
  if (objection.empty()) return verdict;
  return {Policy::require_approval, fmt::format("{}: {}", verdict.source, objection)};
}

bool only_reads(std::string_view tool, const base::Value& arguments, const CallPlace& place) {
  // It has no arguments that name files.
  if (tool == "task_status") return true;
  const auto file_tool = std::ranges::find(file_tools, tool, &FileTool::name);
  if (file_tool == file_tools.end() || !file_tool->reads || arguments.as_object() == nullptr) return false;
  return find_objection(*file_tool, {arguments, place}).empty();
}

}  // namespace reeve::engine
