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

// Whether the config with this rule would have allowed the call.
bool allows(const model::Policies& policies, const model::PolicyRule& rule, const engine::CallSubject& subject) {
  model::Policies with = policies;
  std::vector<model::PolicyRule>& rules = with.tools[shell_tool];
  rules.insert(rules.begin(), rule);
  return engine::decide_call(with, subject, "", {}).policy == model::Policy::auto_approve;
}

// The argument vector, if a rule may name it: nothing for interpreters, programs that start others, options that run
// commands, and text that is not one simple command.
std::optional<Words> find_argv(const ApprovedCall& approved, const model::Policies& policies) {
  if (!approved.is_complete || approved.call.tool != shell_tool) return std::nullopt;
  auto argv = engine::find_call_argv(approved.subject.arguments);
  const engine::GrantTerms by_program{.scope = model::GrantScope::run, .match = model::GrantMatch::program};
  if (!argv || engine::find_grant_objection(policies, approved.subject, by_program)) return std::nullopt;
  return argv;
}

struct Group {
  std::set<Words> vectors;
  std::int64_t calls = 0;
  base::CallId newest{0};

  void add(const Words& argv, base::CallId call) {
    vectors.insert(argv);
    ++calls;
    newest = std::max(newest, call);
  }
};

wire::PolicySuggestion describe(const model::PolicyRule& rule, std::string words, const Group& group) {
  const auto& [name, value] = *rule.when.begin();
  return {.tool = shell_tool,
          .describes = std::move(words),
          // Flow style: every string is quoted as in JSON.
          .yaml = fmt::format("{{policy: auto_approve, when: {{{}: {}}}}}", name, json::encode(value)),
          .calls = group.calls,
          .example = group.newest};
}

}  // namespace

wire::PolicySuggestions make_suggestions(const std::vector<ApprovedCall>& calls, const model::Policies& policies) {
  wire::PolicySuggestions result{.approved = std::ssize(calls), .left_out = 0, .suggestions = {}};
  std::map<std::string, Group> programs;
  std::map<Words, Group> vectors;
  for (const ApprovedCall& approved : calls) {
    const auto argv = find_argv(approved, policies);
    const bool is_program = argv && allows(policies, program_rule(*argv), approved.subject);
    const bool is_exact = argv && allows(policies, exact_rule(*argv), approved.subject);
    if (is_program) programs[name_program(*argv)].add(*argv, approved.call.call_id);
    if (is_exact) vectors[*argv].add(*argv, approved.call.call_id);
    if (!is_program && !is_exact) ++result.left_out;
  }
  for (const auto& [name, group] : programs) {
    if (group.vectors.size() < 2) continue;
    result.suggestions.push_back(
        describe(program_rule(*group.vectors.begin()), fmt::format("{} with any further arguments", name), group));
  }
  for (const auto& [argv, group] : vectors) {
    const auto program = programs.find(name_program(argv));
    if (program != programs.end() && program->second.vectors.size() > 1) continue;
    result.suggestions.push_back(describe(exact_rule(argv), "exactly " + base::join(argv, " "), group));
  }
  std::ranges::sort(result.suggestions, {},
                    [](const wire::PolicySuggestion& one) { return std::tuple(-one.calls, one.describes); });
  if (result.suggestions.size() > max_suggestions) {
    result.suggestions.erase(result.suggestions.begin() + max_suggestions, result.suggestions.end());
  }
  return result;
}

}  // namespace reeve::runtime
