#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "engine/call_gate.h"
#include "engine/grants.h"
#include "engine/policy.h"
#include "tests/support/engine/tool_calls.h"

// Properties of the gate over random rules, grants and calls.
namespace reeve::engine {
namespace {

using base::Value;
using model::Policy;
using model::PolicyRule;

constexpr auto tools = std::to_array<std::string_view>(
    {"file_read", "file_write", "file_delete", "shell_execute", "git_push", "delete", "rocket"});

CallSubject random_call() {
  const auto tool = *rc::gen::elementOf(tools);
  if (tool == "shell_execute") {
    return testing::make_shell_call(*rc::gen::element<std::string>(
        "ls", "ls -l src", "git status", "git push", "git -C x push", "env git push", "git push; ls", "cat a", "make"));
  }
  CallSubject subject = testing::make_call(tool, "{}");
  const auto path = *rc::gen::element<std::string>("a", "src/a", "src/a.sql", "../a", "docs/key", "link", ".git/x");
  if (*rc::gen::inRange(0, 4) > 0) subject.arguments.set("path", Value::string(path));
  return subject;
}

PolicyRule random_rule(std::string_view tool) {
  PolicyRule rule{.policy = *rc::gen::element(Policy::auto_approve, Policy::require_approval, Policy::deny)};
  const bool is_shell = tool == "shell_execute";
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      break;
    case 1:
      rule.when["role"] = Value::string(*rc::gen::element<std::string>("coder", "c*", "x"));
      break;
    case 2:
      rule.when["network"] = Value::string("none");
      break;
    default:
      rule.when[is_shell ? "program" : "path"] =
          Value::string(is_shell ? *rc::gen::element<std::string>("ls", "git push", "git status", "make", "cat")
                                 : *rc::gen::element<std::string>("**", "src/**", "**/*.sql", "/etc/**", "a"));
  }
  return rule;
}

void add_rule(model::Policies& policies, std::string_view tool, PolicyRule rule) {
  auto& list = *rc::gen::inRange(0, 2) == 0 ? policies.tools : policies.roles["coder"];
  auto& rules = list[std::string(tool)];
  const auto at = *rc::gen::inRange<std::size_t>(0, rules.size() + 1);
  rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(at), std::move(rule));
}

model::Policies random_policies() {
  model::Policies policies;
  const int count = *rc::gen::inRange(0, 8);
  for (int i = 0; i < count; ++i) {
    const auto tool = *rc::gen::elementOf(tools);
    add_rule(policies, tool, random_rule(tool));
  }
  return policies;
}

std::vector<model::Grant> random_grants(const CallSubject& call) {
  std::vector<model::Grant> grants;
  grants.push_back(make_grant(call, "sha256:1", {}));
  if (find_grant_objection({}, call, {.match = model::GrantMatch::program}).value_or("").empty()) {
    grants.push_back(make_grant(call, "sha256:1", {.match = model::GrantMatch::program}));
  }
  grants.push_back(make_grant(call, "sha256:1", {.match = model::GrantMatch::path, .path = "**"}));
  return grants;
}

// TOOL-1, TOOL-8
RC_GTEST_PROP(CallGate, no_sequence_of_grants_widens_a_denial, ()) {
  const model::Policies policies = random_policies();
  const CallSubject call = random_call();
  const auto before = decide_call(policies, call, "sha256:1", {}).policy;
  const auto after = decide_call(policies, call, "sha256:1", random_grants(call)).policy;
  RC_ASSERT((before == Policy::deny) == (after == Policy::deny));
  RC_ASSERT(after <= before);
}

// A denial is loosened neither by a rule with a condition, anywhere, nor by a rule of a role.
RC_GTEST_PROP(CallGate, no_sequence_of_rules_widens_a_denial, ()) {
  model::Policies policies = random_policies();
  const CallSubject call = random_call();
  // The denials that stay: a default, a rule of the tool that names the call, or any rule of the tool if only roles add
  // rules.
  PolicyRule denial{.policy = Policy::deny};
  denial.when["role"] = Value::string("coder");
  policies.tools[call.tool].insert(policies.tools[call.tool].begin(), denial);
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    RC_ASSERT(decide_call(policies, call, "sha256:1", random_grants(call)).policy == Policy::deny);
    add_rule(policies, call.tool, random_rule(call.tool));
  }
}

// Nothing but `even_if_denied` undoes a default.
RC_GTEST_PROP(CallGate, default_denials_stay, ()) {
  CallSubject call =
      testing::make_call(*rc::gen::element<std::string>("delete", "file_delete", "force_push"), R"({"path": "a"})");
  model::Policies policies = random_policies();
  for (int i = 0; i < 3; ++i) add_rule(policies, call.tool, random_rule(call.tool));
  RC_ASSERT(decide_call(policies, call, "sha256:1", random_grants(call)).policy == Policy::deny);
}

RC_GTEST_PROP(CallGate, order_of_unrelated_rules_does_not_matter, ()) {
  const CallSubject call = random_call();
  // Rules for roles, paths and programs that the call does not have.
  std::vector<PolicyRule> unrelated;
  for (const char* role : {"x", "y"}) {
    PolicyRule rule{.policy = *rc::gen::element(Policy::auto_approve, Policy::require_approval, Policy::deny)};
    rule.when["role"] = Value::string(role);
    unrelated.push_back(rule);
  }
  model::Policies plain;
  plain.tools[call.tool] = {random_rule(call.tool)};
  model::Policies mixed = plain;
  auto& rules = mixed.tools[call.tool];
  for (const PolicyRule& rule : unrelated) {
    const auto at = *rc::gen::inRange<std::size_t>(0, rules.size() + 1);
    rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(at), rule);
  }
  mixed.tools["other"] = {random_rule("other")};
  mixed.roles["other"] = plain.tools;
  const auto one = decide_call(plain, call, "sha256:1", {});
  const auto other = decide_call(mixed, call, "sha256:1", {});
  RC_ASSERT(one.policy == other.policy);
  RC_ASSERT(one.rule == other.rule);
}

// Whatever the rules: no text that is more than it seems, no program that runs others or that the run can replace.
RC_GTEST_PROP(CallGate, shell_is_approved_for_named_commands_only, ()) {
  const model::Policies policies = random_policies();
  CallSubject call = testing::make_shell_call(*rc::gen::element<std::string>(
      "ls; id", "ls $(id)", "ls > x", "sh -c ls", "env ls", "make", "python3 x", "git -C x status", "ls *", "A=b ls"));
  RC_ASSERT(decide_call(policies, call, "sha256:1", {}).policy != Policy::auto_approve);
  CallSubject replaceable = testing::make_shell_call("ls");
  replaceable.program->is_writable_by_run = true;
  RC_ASSERT(decide_call(policies, replaceable, "sha256:1", {}).policy != Policy::auto_approve);
}

// What a pattern may stand for: `**` for any number of folders, `*` and the others for one name.
std::string random_expansion(std::string_view pattern) {
  const auto names = [] { return *rc::gen::element<std::string>("x", "app", "...", "work"); };
  std::string path;
  bool is_first = true;
  for (const std::string_view part : base::split(pattern, '/')) {
    std::vector<std::string> parts = {std::string(part)};
    if (has_wildcard(part)) parts = {names()};
    if (part == "**") {
      parts.clear();
      for (int left = *rc::gen::inRange(0, 4); left > 0; --left) parts.push_back(names());
    }
    for (const std::string& each : parts) {
      path += (is_first ? "" : "/") + each;
      is_first = false;
    }
  }
  return path;
}

// Whatever its wildcards stand for, a pattern beneath the root never leads out of it.
RC_GTEST_PROP(CallPath, pattern_never_leaves_its_root, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("..", ".", "a", "app", "*", "**", "a?", "[ab]", "{a,b}", "@(a|b)", "x\\*"));
  std::string pattern = *rc::gen::element<std::string>("/work/app", "/work/app/.", "/work/app/src");
  for (const std::string& part : parts) pattern += "/" + part;
  const CallPlace place{.folder = "/work/app", .real_folder = "/work/app", .real_paths = {}};
  if (!locate_path(place, pattern).beneath) return;
  for (int i = 0; i < 5; ++i) {
    const CallPath expanded = locate_path(place, random_expansion(pattern));
    RC_ASSERT(expanded.beneath);
  }
}

// A normalised path never leaves its root, and never gets there by another spelling.
RC_GTEST_PROP(CallPath, normalised_path_never_leaves_its_root, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("..", ".", "", "a", "b", "...", "app", "work", "~", "{..,a}", "*", "**", "[a]"));
  std::string path = *rc::gen::element<std::string>("", "/", "/work/app/", "/work/app", "./");
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  const CallPlace place{.folder = "/work/app", .real_folder = "/work/app", .real_paths = {}};
  const CallPath located = locate_path(place, path);
  if (!located.beneath) return;
  RC_ASSERT(located.absolute == "/work/app" || located.absolute.starts_with("/work/app/"));
  RC_ASSERT(*located.beneath == "." || located.absolute == "/work/app/" + *located.beneath);
  std::string walked = located.absolute + "/";
  RC_ASSERT(!walked.contains("/../") && !walked.contains("/./") && !walked.contains("//"));
}

}  // namespace
}  // namespace reeve::engine
