#include "engine/policy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/enum.h"
#include "engine/file_kinds.h"
#include "engine/policy_match.h"
#include "engine/shell_call.h"
#include "model/policy_conditions.h"

namespace reeve::engine {

namespace {

using model::Policy;
using model::PolicyRule;

// What the rules for one tool say about a call.
struct ListVerdict {
  // The rule that decided, if one matched.
  const PolicyRule* rule = nullptr;
  // A rule that denies, or one that asks, may match: nobody can tell.
  bool may_deny = false;
  bool may_ask = false;
};

// Whether a rule that was found before gives way.
bool gives_way(const PolicyRule* before, const PolicyRule& rule) {
  return before == nullptr ||
         (rule.policy == Policy::deny && before->policy != Policy::deny && !before->even_if_denied);
}

ListVerdict find_rule(const model::ToolPolicies& tools, const CallSubject& subject) {
  ListVerdict verdict;
  const auto found = tools.find(subject.tool);
  if (found == tools.end()) return verdict;
  for (const PolicyRule& rule : found->second) {
    if (rule.when.empty()) continue;
    const RuleMatch match = match_rule(rule, subject);
    if (match == RuleMatch::yes && gives_way(verdict.rule, rule)) verdict.rule = &rule;
    const bool is_doubtful = match == RuleMatch::unknown && (verdict.rule == nullptr || rule.policy == Policy::deny);
    verdict.may_deny = verdict.may_deny || (is_doubtful && rule.policy == Policy::deny);
    verdict.may_ask = verdict.may_ask || (is_doubtful && rule.policy == Policy::require_approval);
  }
  if (verdict.rule != nullptr) {
    verdict.may_deny = verdict.may_deny && !verdict.rule->even_if_denied;
    return verdict;
  }
  for (const PolicyRule& rule : found->second) {
    if (rule.when.empty() && gives_way(verdict.rule, rule)) verdict.rule = &rule;
  }
  return verdict;
}

std::optional<Policy> find_role_default(std::string_view role, std::string_view tool) {
  const auto of_role = model::default_role_policies().find(role);
  if (of_role == model::default_role_policies().end()) return std::nullopt;
  const auto found = of_role->second.find(tool);
  return found != of_role->second.end() ? std::optional(found->second) : std::nullopt;
}

struct Resolution {
  PolicyVerdict verdict;
  // Nothing: a default.
  const PolicyRule* rule = nullptr;
  bool may_deny = false;
  bool may_ask = false;
};

// Without the rules of the role.
Resolution resolve_for_all(const model::Policies& policies, const CallSubject& subject) {
  const ListVerdict list = find_rule(policies.tools, subject);
  Resolution found{.verdict = {}, .rule = list.rule, .may_deny = list.may_deny, .may_ask = list.may_ask};
  const auto by_default = find_role_default(subject.role, subject.tool);
  const auto built_in = model::default_policies().find(subject.tool);
  if (by_default && (list.rule == nullptr || *by_default > list.rule->policy)) {
    found.verdict = {*by_default, fmt::format("default of the role {}", subject.role)};
    found.rule = nullptr;
    return found;
  }
  const bool has_built_in = built_in != model::default_policies().end();
  const bool is_denied = has_built_in && built_in->second == Policy::deny;
  if (list.rule != nullptr && (!is_denied || list.rule->policy == Policy::deny || list.rule->even_if_denied)) {
    found.verdict = {list.rule->policy, fmt::format("policies.tools.{}", subject.tool)};
    return found;
  }
  found.rule = nullptr;
  found.verdict = has_built_in ? PolicyVerdict{built_in->second, "default"}
                               : PolicyVerdict{Policy::require_approval, "unknown tool"};
  return found;
}

Resolution resolve(const model::Policies& policies, const CallSubject& subject) {
  Resolution all = resolve_for_all(policies, subject);
  const auto of_role = policies.roles.find(subject.role);
  if (of_role == policies.roles.end()) return all;
  const ListVerdict list = find_rule(of_role->second, subject);
  if (list.rule == nullptr) {
    all.may_deny = all.may_deny || list.may_deny;
    all.may_ask = all.may_ask || list.may_ask;
    return all;
  }
  const bool may_loosen = list.rule->policy == Policy::deny || list.rule->even_if_denied;
  if (!may_loosen && all.verdict.policy == Policy::deny) return all;
  Resolution found{.verdict = {list.rule->policy, fmt::format("policies.roles.{}.{}", subject.role, subject.tool)},
                   .rule = list.rule,
                   .may_deny = list.may_deny,
                   .may_ask = list.may_ask};
  // A role's rule may do without a question, never without a denial.
  if (!list.rule->even_if_denied && find_rule(policies.tools, subject).may_deny) found.may_deny = true;
  return found;
}

constexpr std::string_view read_of_many =
    "it may read files that may hold secrets; the tool `search_files` of Reeve skips them";

// Tools whose calls touch files.
struct FileTool {
  enum class Access { reads, stages, writes };
  std::string_view name;
  bool needs_path;
  Access access;
};
constexpr auto file_tools = std::to_array<FileTool>({
    {.name = "file_read", .needs_path = true, .access = FileTool::Access::reads},
    {.name = "list_directory", .needs_path = true, .access = FileTool::Access::reads},
    {.name = "search_files", .needs_path = true, .access = FileTool::Access::reads},
    {.name = "git_blame", .needs_path = true, .access = FileTool::Access::reads},
    {.name = "git_diff", .needs_path = false, .access = FileTool::Access::reads},
    {.name = "git_log", .needs_path = false, .access = FileTool::Access::reads},
    {.name = "file_write", .needs_path = false, .access = FileTool::Access::writes},
    {.name = "file_delete", .needs_path = true, .access = FileTool::Access::writes},
    {.name = "git_add", .needs_path = false, .access = FileTool::Access::stages},
});

// Why no rule approves the access to a file beneath the worktree; empty if one may.
std::string_view find_file_objection(FileTool::Access access, std::string_view path) {
  using enum FileTool::Access;
  if (access == reads) return names_secret_file(path) ? "a file that may hold secrets" : "";
  // Its hooks and settings run programs.
  if (is_git_file(path)) return "a file of git itself";
  if (access == stages || !is_sensitive_file(path)) return {};
  // They decide what Reeve and agents allow, so an agent could loosen its own gate.
  if (is_reeve_file(path)) return "a file of Reeve itself";
  return is_agent_config(path) ? "the configuration of an agent" : "a file that may hold secrets";
}

// TOOL-1: why a call is not auto-approved whatever the rules say; empty if it may be.
std::string_view find_objection(const FileTool& tool, const base::Value& arguments, const CallPlace& place) {
  const auto paths = find_paths(arguments);
  if (!paths) return "a path that is not a string";
  if (paths->empty() && tool.needs_path) return "no `path`";
  for (const std::string& path : *paths) {
    for (const CallPath& each : locate_all(place, path)) {
      if (!each.beneath) return "outside the worktree";
      if (const std::string_view objection = find_file_objection(tool.access, *each.beneath); !objection.empty()) {
        return objection;
      }
    }
    if (place.may_hold_secrets.contains(path)) return read_of_many;
  }
  const auto is_option = [](const base::Member& member) {
    const std::string* text = member.value.as_string();
    return text != nullptr && text->starts_with('-');
  };
  const bool is_git = tool.name.starts_with("git_");
  if (is_git && std::ranges::any_of(*arguments.as_object(), is_option)) return "a git option";
  return {};
}

constexpr FileTool unknown_tool{.name = "", .needs_path = true, .access = FileTool::Access::writes};

std::string find_objection(const Resolution& found, const CallSubject& subject) {
  if (subject.tool == "shell_execute") {
    // It runs anything, so a rule must say what.
    if (found.rule == nullptr) return "no rule names the command";
    if (found.rule->when.contains("argv")) return find_shell_objection(subject, ShellExtent::argv);
    if (found.rule->when.contains("program")) return find_shell_objection(subject, ShellExtent::program);
    return "the rule has neither `argv` nor `program`";
  }
  const auto file_tool = std::ranges::find(file_tools, subject.tool, &FileTool::name);
  if (file_tool != file_tools.end()) return std::string(find_objection(*file_tool, subject.arguments, subject.place));
  const bool is_by_path = found.rule != nullptr && found.rule->when.contains("path");
  return is_by_path ? std::string(find_objection(unknown_tool, subject.arguments, subject.place)) : std::string();
}

}  // namespace

PolicyVerdict resolve_policy(const model::Policies& policies, const CallSubject& subject) {
  Resolution found = resolve(policies, subject);
  found.verdict.may_be_denied = found.may_deny;
  if (found.verdict.policy != Policy::auto_approve) return std::move(found.verdict);
  found.verdict.reason = find_objection(found, subject);
  if (found.verdict.reason.empty() && (found.may_deny || found.may_ask)) {
    found.verdict.reason = "a stricter rule may match; whether it does cannot be decided";
  }
  if (!found.verdict.reason.empty()) found.verdict.policy = Policy::require_approval;
  return std::move(found.verdict);
}

PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments, const CallPlace& place) {
  CallSubject subject;
  subject.role = role;
  subject.tool = tool;
  subject.arguments = arguments;
  subject.place = place;
  subject.cwd = place.folder;
  PolicyVerdict verdict = resolve_policy(policies, subject);
  if (!verdict.reason.empty()) verdict.source += ": " + std::exchange(verdict.reason, {});
  return verdict;
}

bool is_file_tool(std::string_view tool) {
  return std::ranges::find(file_tools, tool, &FileTool::name) != file_tools.end();
}

bool only_reads(std::string_view tool, const base::Value& arguments, const CallPlace& place) {
  // It has no arguments that name files.
  if (tool == "task_status") return true;
  const auto file_tool = std::ranges::find(file_tools, tool, &FileTool::name);
  if (file_tool == file_tools.end() || file_tool->access != FileTool::Access::reads || arguments.as_object() == nullptr)
    return false;
  return find_objection(*file_tool, arguments, place).empty();
}

std::vector<std::string> find_inert_conditions(const model::Policies& policies) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& area, const model::ToolPolicies& tools) {
    for (const auto& [tool, rules] : tools) {
      for (const PolicyRule& rule : rules) {
        const auto sandbox = rule.when.find("sandbox");
        const auto words = sandbox != rule.when.end() ? model::find_condition_texts(sandbox->second) : std::nullopt;
        if (words && std::ranges::find(*words, "guard") != words->end()) {
          lines.push_back(
              fmt::format("{}.{}: `sandbox: guard` matches nothing: a run in the guard still reaches the "
                          "network and your home folder",
                          area, tool));
        }
        if (rule.when.contains("network")) {
          lines.push_back(
              fmt::format("{}.{}: `network` matches nothing: the network of runs is not confined yet", area, tool));
        }
      }
    }
  };
  add("policies.tools", policies.tools);
  for (const auto& [role, tools] : policies.roles) add("policies.roles." + role, tools);
  return lines;
}

}  // namespace reeve::engine
