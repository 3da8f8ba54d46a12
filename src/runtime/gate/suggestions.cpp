#include "runtime/gate/suggestions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/call_gate.h"
#include "engine/grants.h"
#include "engine/policy.h"
#include "engine/shell_call.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/program_kinds.h"

namespace reeve::runtime {

namespace {

using Words = std::vector<std::string>;

constexpr const char* shell_tool = "shell_execute";
constexpr std::size_t max_suggestions = 100;

// As a rule names it: "git status", or "ls" for a program without subcommands.
std::string name_program(const Words& argv) {
  const std::string_view subcommand = model::find_subcommand(argv);
  return subcommand.empty() ? argv.front() : fmt::format("{} {}", argv.front(), subcommand);
}

model::PolicyRule program_rule(const Words& argv) {
  return {.policy = model::Policy::auto_approve, .when = {{"program", base::Value::string(name_program(argv))}}};
}

model::PolicyRule exact_rule(const Words& argv) {
  return {.policy = model::Policy::auto_approve, .when = {{"argv", json::to_value(argv)}}};
}

model::PolicyRule path_rule(const std::string& glob) {
  return {.policy = model::Policy::auto_approve, .when = {{"path", base::Value::string(glob)}}};
}

// Whether the config with this rule would have allowed the call.
bool allows(const model::Policies& policies, const model::PolicyRule& rule, const engine::CallSubject& subject) {
  model::Policies with = policies;
  std::vector<model::PolicyRule>& rules = with.tools[subject.tool];
  rules.insert(rules.begin(), rule);
  return engine::decide_call(with, subject, "", {}).policy == model::Policy::auto_approve;
}

bool runs_others(const engine::CallSubject& subject, const Words& argv) {
  const auto is_one = [](std::string_view program) {
    const model::ProgramKind kind = model::kind_of_program(program);
    return kind == model::ProgramKind::interpreter || kind == model::ProgramKind::starter;
  };
  return is_one(argv.front()) || (subject.program && is_one(subject.program->path));
}

// The argument vector, if a rule may name it: nothing for interpreters, programs that start others, options that run
// commands, and text that is not one simple command.
std::optional<Words> find_argv(const ApprovedCall& approved) {
  if (!approved.is_complete || approved.call.tool != shell_tool) return std::nullopt;
  auto argv = engine::find_call_argv(approved.subject.arguments);
  if (!argv || runs_others(approved.subject, *argv)) return std::nullopt;
  // A known program with arguments that are not free, such as `git -c`.
  const bool is_known = model::kind_of_program(argv->front()) != model::ProgramKind::unknown;
  if (is_known && model::find_command_objection(*argv)) return std::nullopt;
  return argv;
}

// The only file of a call that writes, relative to the worktree.
std::optional<std::string> find_written_file(const ApprovedCall& approved) {
  const engine::CallSubject& subject = approved.subject;
  if (!approved.is_complete || approved.call.tool == shell_tool || !engine::is_file_tool(subject.tool)) {
    return std::nullopt;
  }
  const auto paths = engine::find_paths(subject.arguments);
  if (!paths || paths->size() != 1) return std::nullopt;
  auto beneath = engine::locate_path(subject.place, paths->front()).beneath;
  // In a rule, `*` and `?` would mean more than this file.
  if (!beneath || beneath->find_first_of("*?") != std::string::npos) return std::nullopt;
  return beneath;
}

// "src/**" for "src/a/b.c"; empty for a file in the worktree's own folder.
std::string find_folder_glob(const std::string& file) {
  const std::size_t slash = file.find('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash) + "/**";
}

struct Group {
  // Of which calls: argument vectors, or files.
  std::set<Words> members;
  std::int64_t calls = 0;
  base::CallId newest{0};

  void add(const Words& member, base::CallId call) {
    members.insert(member);
    ++calls;
    newest = std::max(newest, call);
  }
};

// Calls that a wider rule or an exact one covers.
struct Groups {
  std::map<std::pair<std::string, std::string>, Group> wide;
  std::map<std::pair<std::string, Words>, Group> exact;
};

wire::PolicySuggestion describe(const std::string& tool, const model::PolicyRule& rule, std::string words,
                                const Group& group) {
  const auto& [name, value] = *rule.when.begin();
  return {.tool = tool,
          .describes = std::move(words),
          // Flow style: every string is quoted as in JSON.
          .yaml = fmt::format("{{policy: auto_approve, when: {{{}: {}}}}}", name, json::encode(value)),
          .calls = group.calls,
          .example = group.newest};
}

// Whether a rule covers the call; it is counted for the wide one, the exact one, or both.
bool count(const ApprovedCall& approved, const model::Policies& policies, Groups& groups) {
  const engine::CallSubject& subject = approved.subject;
  // A new rule must not undo a denial, or one that nobody can check.
  const engine::PolicyVerdict now = engine::resolve_policy(policies, subject);
  if (now.policy == model::Policy::deny || now.may_be_denied) return false;
  const auto argv = find_argv(approved);
  const auto file = argv ? std::nullopt : find_written_file(approved);
  if (!argv && !file) return false;
  const std::string wide = argv ? name_program(*argv) : find_folder_glob(*file);
  const Words member = argv ? *argv : Words{*file};
  const bool is_wide = !wide.empty() && allows(policies, argv ? program_rule(*argv) : path_rule(wide), subject);
  const bool is_exact = allows(policies, argv ? exact_rule(*argv) : path_rule(*file), subject);
  if (is_wide) groups.wide[{subject.tool, wide}].add(member, approved.call.call_id);
  if (is_exact) groups.exact[{subject.tool, member}].add(member, approved.call.call_id);
  return is_wide || is_exact;
}

}  // namespace

wire::PolicySuggestions make_suggestions(const std::vector<ApprovedCall>& calls, const model::Policies& policies) {
  wire::PolicySuggestions result{.approved = std::ssize(calls), .left_out = 0, .suggestions = {}};
  Groups groups;
  for (const ApprovedCall& approved : calls) result.left_out += count(approved, policies, groups) ? 0 : 1;
  for (const auto& [key, group] : groups.wide) {
    const auto& [tool, name] = key;
    if (group.members.size() < 2) continue;
    result.suggestions.push_back(
        tool == shell_tool
            ? describe(tool, program_rule(*group.members.begin()), name + " with any further arguments", group)
            : describe(tool, path_rule(name), fmt::format("{} of any file in {}", tool, name), group));
  }
  for (const auto& [key, group] : groups.exact) {
    const auto& [tool, member] = key;
    const bool is_shell = tool == shell_tool;
    const auto wide = groups.wide.find({tool, is_shell ? name_program(member) : find_folder_glob(member.front())});
    if (wide != groups.wide.end() && wide->second.members.size() > 1) continue;
    result.suggestions.push_back(
        is_shell ? describe(tool, exact_rule(member), "exactly " + base::join(member, " "), group)
                 : describe(tool, path_rule(member.front()),
                            fmt::format("{} of {}, with any content", tool, member.front()), group));
  }
  // Those of one tool together, as they stand in a config.
  std::map<std::string, std::int64_t> of_tool;
  for (const wire::PolicySuggestion& one : result.suggestions) of_tool[one.tool] += one.calls;
  std::ranges::sort(result.suggestions, {}, [&](const wire::PolicySuggestion& one) {
    return std::tuple(-of_tool[one.tool], one.tool, -one.calls, one.describes);
  });
  if (result.suggestions.size() > max_suggestions) {
    result.suggestions.erase(result.suggestions.begin() + max_suggestions, result.suggestions.end());
  }
  return result;
}

}  // namespace reeve::runtime
