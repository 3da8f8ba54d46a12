#include "engine/policy.h"

#include <gtest/gtest.h>

#include "base/enum.h"
#include "json/parse.h"

namespace reeve::engine {
namespace {

using model::Policy;

std::string verdict(const model::Policies& policies, std::string_view role, std::string_view tool,
                    std::string_view arguments = "{}") {
  const PolicyVerdict result = resolve_policy(policies, role, tool, json::parse(arguments).value());
  return std::string(base::spell(result.policy)) + " by " + result.source;
}

// TOOL-1, S4 §6
TEST(Policy, follows_the_defaults_of_the_seed) {
  EXPECT_EQ(verdict({}, "crew", "file_read"), "auto_approve by default");
  EXPECT_EQ(verdict({}, "crew", "git_commit"), "require_approval by default");
  EXPECT_EQ(verdict({}, "mayor", "git_commit"), "auto_approve by default of the role mayor");
  EXPECT_EQ(verdict({}, "witness", "file_write"), "deny by default of the role witness");
  EXPECT_EQ(verdict({}, "mayor", "force_push"), "deny by default");
  EXPECT_EQ(verdict({}, "mayor", "launch_rocket"), "require_approval by unknown tool");
}

// TOOL-1: role override, tool policy, then the defaults.
TEST(Policy, the_role_comes_before_the_tool) {
  model::Policies policies;
  policies.tools["git_push"] = {{.policy = Policy::deny}};
  policies.roles["mayor"]["git_push"] = {{.policy = Policy::require_approval, .even_if_denied = true}};
  EXPECT_EQ(verdict(policies, "mayor", "git_push"), "require_approval by policies.roles.mayor.git_push");
  EXPECT_EQ(verdict(policies, "crew", "git_push"), "deny by policies.tools.git_push");
}

// A default of a role is there to trust it more or less than others, not to undo what the config says.
TEST(Policy, of_a_default_of_the_role_and_the_config_of_the_tool_the_stricter_counts) {
  model::Policies policies;
  policies.tools["git_commit"] = {{.policy = Policy::deny}};
  policies.tools["file_write"] = {{.policy = Policy::auto_approve}};
  EXPECT_EQ(verdict(policies, "mayor", "git_commit"), "deny by policies.tools.git_commit");
  EXPECT_EQ(verdict(policies, "witness", "file_write"), "deny by default of the role witness");
  EXPECT_EQ(verdict(policies, "crew", "file_write"), "auto_approve by policies.tools.file_write");
}

// TOOL-1: finer rules look at parsed arguments.
TEST(Policy, rules_on_arguments_come_first_whatever_their_order) {
  model::Policies policies;
  policies.tools["file_write"] = {
      {.policy = Policy::auto_approve},
      {.policy = Policy::deny, .when = {{"path", "secrets/**"}}},
      {.policy = Policy::require_approval, .when = {{"path", "src/**"}, {"mode", "append"}}}};
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "docs/a"})"),
            "auto_approve by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "secrets/a/b"})"), "deny by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "src/a", "mode": "append"})"),
            "require_approval by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "src/a"})"),
            "auto_approve by policies.tools.file_write")
      << "a rule on an argument that is not there does not fit";
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": ["secrets/a"]})"),
            "auto_approve by policies.tools.file_write")
      << "only texts are matched";
}

TEST(Policy, a_rule_that_does_not_fit_leaves_the_default) {
  model::Policies policies;
  policies.tools["file_delete"] = {
      {.policy = Policy::require_approval, .when = {{"path", "tmp/**"}}, .even_if_denied = true}};
  EXPECT_EQ(verdict(policies, "crew", "file_delete", R"({"path": "tmp/x"})"),
            "require_approval by policies.tools.file_delete");
  EXPECT_EQ(verdict(policies, "crew", "file_delete", R"({"path": "src/x"})"), "deny by default");
}

}  // namespace
}  // namespace reeve::engine
