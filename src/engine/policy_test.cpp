#include "engine/policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum.h"
#include "json/parse.h"

namespace reeve::engine {
namespace {

using model::Policy;

base::Value text(std::string_view value) { return base::Value::string(value); }

std::string verdict(const model::Policies& policies, std::string_view role, std::string_view tool,
                    std::string_view arguments = "{}") {
  const CallPlace place{
      .folder = "/work/app",
      .real_folder = "/data/app",
      .real_paths = {
          {"link", "/etc/passwd"}, {"docs/key", "/data/app/.env"}, {"docs/ok", "/data/app/docs/ok"}, {"gone", ""}}};
  const PolicyVerdict result = resolve_policy(policies, role, tool, json::parse(arguments).value(), place);
  return std::string(base::spell(result.policy)) + " by " + result.source;
}

// TOOL-1, S4 §6
TEST(Policy, defaults_match_the_reference) {
  EXPECT_EQ(verdict({}, "crew", "file_read", R"({"path": "src/a.c"})"), "auto_approve by default");
  EXPECT_EQ(verdict({}, "crew", "git_log"), "auto_approve by default");
  EXPECT_EQ(verdict({}, "crew", "task_status"), "auto_approve by default");
  EXPECT_EQ(verdict({}, "crew", "git_commit"), "require_approval by default");
  EXPECT_EQ(verdict({}, "mayor", "git_commit"), "auto_approve by default of the role mayor");
  EXPECT_EQ(verdict({}, "witness", "file_write"), "deny by default of the role witness");
  EXPECT_EQ(verdict({}, "mayor", "force_push"), "deny by default");
  EXPECT_EQ(verdict({}, "mayor", "launch_rocket"), "require_approval by unknown tool");
}

// TOOL-1: role override, tool policy, then the defaults.
TEST(Policy, role_rule_overrides_tool_rule) {
  model::Policies policies;
  policies.tools["git_push"] = {{.policy = Policy::deny}};
  policies.roles["mayor"]["git_push"] = {{.policy = Policy::require_approval, .even_if_denied = true}};
  EXPECT_EQ(verdict(policies, "mayor", "git_push"), "require_approval by policies.roles.mayor.git_push");
  EXPECT_EQ(verdict(policies, "crew", "git_push"), "deny by policies.tools.git_push");
}

// A role's default expresses more or less trust than other roles', and must not undo the config.
TEST(Policy, stricter_of_role_default_and_tool_rule_wins) {
  model::Policies policies;
  policies.tools["git_commit"] = {{.policy = Policy::deny}};
  policies.tools["file_write"] = {{.policy = Policy::auto_approve}};
  EXPECT_EQ(verdict(policies, "mayor", "git_commit"), "deny by policies.tools.git_commit");
  EXPECT_EQ(verdict(policies, "witness", "file_write"), "deny by default of the role witness");
  EXPECT_EQ(verdict(policies, "crew", "file_write"), "auto_approve by policies.tools.file_write");
}

// TOOL-1: rules with `when` match parsed arguments.
TEST(Policy, argument_rules_win_in_any_order) {
  model::Policies policies;
  policies.tools["file_write"] = {
      {.policy = Policy::auto_approve},
      {.policy = Policy::deny, .when = {{"path", text("secrets/**")}}},
      {.policy = Policy::require_approval, .when = {{"path", text("src/**")}, {"mode", text("append")}}}};
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "docs/a"})"),
            "auto_approve by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "secrets/a/b"})"), "deny by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "src/a", "mode": "append"})"),
            "require_approval by policies.tools.file_write");
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": "src/a"})"),
            "auto_approve by policies.tools.file_write")
      << "a rule on a missing argument does not match";
  EXPECT_EQ(verdict(policies, "crew", "file_write", R"({"path": {"of": "secrets/a"}})"),
            "require_approval by policies.tools.file_write: a path that is not a string")
      << "only strings are matched";
}

TEST(Policy, unmatched_rule_falls_back_to_the_default) {
  model::Policies policies;
  policies.tools["file_delete"] = {
      {.policy = Policy::require_approval, .when = {{"path", text("tmp/**")}}, .even_if_denied = true}};
  EXPECT_EQ(verdict(policies, "crew", "file_delete", R"({"path": "tmp/x"})"),
            "require_approval by policies.tools.file_delete");
  EXPECT_EQ(verdict(policies, "crew", "file_delete", R"({"path": "src/x"})"), "deny by default");
}

// TOOL-1: reading is auto-approved only inside the worktree, whatever a rule says.
TEST(Policy, reads_are_approved_only_inside_the_worktree) {
  model::Policies loose;
  for (const char* tool : {"file_read", "list_directory", "search_files", "git_blame", "git_diff", "git_log"}) {
    loose.tools[tool] = {{.policy = Policy::auto_approve, .when = {{"path", text("/**")}}},
                         {.policy = Policy::auto_approve}};
    for (const model::Policies& policies : {model::Policies{}, loose}) {
      for (const char* path : {"/etc/passwd", "../x", "src/../../x", "/proc/self/environ", "~/.ssh/id_rsa", "~root/x",
                               "/work/app/../x", "/work/application/x", "link", "gone", "/", "a/../..", "x\\u0000y"}) {
        EXPECT_EQ(verdict(policies, "crew", tool, fmt::format(R"({{"path": "{}"}})", path)).substr(0, 19),
                  "require_approval by")
            << tool << path;
      }
      for (const char* path : {"src/a.c", "./src/a.c", "src/../src/a.c", "/work/app/src/a.c", "/data/app/src/a.c", ".",
                               "docs/ok", "a..b", "...", "src/"}) {
        EXPECT_EQ(verdict(policies, "crew", tool, fmt::format(R"({{"path": "{}"}})", path)).substr(0, 15),
                  "auto_approve by")
            << tool << path;
      }
    }
  }
}

// TOOL-1
TEST(Policy, reading_files_that_may_hold_secrets_needs_approval) {
  for (const char* path : {".env", "app/.env.local", ".ENV", "deploy/server.pem", "ssl/private.key", ".ssh/known_hosts",
                           "x/.aws/config", "id_rsa", "backup_rsa", ".netrc", ".npmrc", "credentials.json",
                           ".git/config", "sub/.git/config", ".reeve/state/http.token", "docs/key"}) {
    EXPECT_EQ(verdict({}, "crew", "file_read", fmt::format(R"({{"path": "{}"}})", path)),
              "require_approval by default: a file that may hold secrets")
        << path;
  }
  for (const char* path : {"environment.md", "src/keys.cpp", ".github/config", "docs/env.md", ".reeve/config.yaml"}) {
    EXPECT_EQ(verdict({}, "crew", "file_read", fmt::format(R"({{"path": "{}"}})", path)), "auto_approve by default")
        << path;
  }
}

TEST(Policy, unresolvable_path_needs_approval) {
  EXPECT_EQ(verdict({}, "crew", "file_read"), "require_approval by default: no `path`");
  for (const char* arguments : {R"({"path": 7})", R"({"path": null})", R"({"path": ""})", R"({"paths": []})",
                                R"({"paths": ["a", 7]})", R"({"path": "a", "file": {}})"}) {
    EXPECT_EQ(verdict({}, "crew", "file_read", arguments), "require_approval by default: a path that is not a string")
        << arguments;
  }
  EXPECT_EQ(verdict({}, "crew", "file_read", R"({"path": "a", "file": "/etc/passwd"})"),
            "require_approval by default: outside the worktree");
  EXPECT_EQ(verdict({}, "crew", "search_files", R"({"paths": ["a", "../b"]})"),
            "require_approval by default: outside the worktree");
  EXPECT_EQ(verdict({}, "crew", "git_diff", R"({"ref": "--no-index"})"), "require_approval by default: a git option");
  EXPECT_EQ(resolve_policy({}, "", "file_read", json::parse(R"({"path": "a"})").value(), {}).policy,
            Policy::require_approval)
      << "no worktree is known";
}

// TOOL-8: paths are made absolute and resolved before they are matched.
TEST(Policy, rules_match_the_resolved_path) {
  model::Policies policies;
  policies.tools["file_write"] = {{.policy = Policy::deny, .when = {{"path", text("secrets/**")}}},
                                  {.policy = Policy::deny, .when = {{"path", text("**/.env")}}},
                                  {.policy = Policy::auto_approve, .when = {{"path", text("src/**")}}},
                                  {.policy = Policy::auto_approve, .when = {{"path", text("docs/**")}}},
                                  {.policy = Policy::auto_approve, .when = {{"path", text("/tmp/**")}}}};
  const auto write = [&](std::string_view path) {
    return verdict(policies, "crew", "file_write", fmt::format(R"({{"path": "{}"}})", path));
  };
  EXPECT_EQ(write("src/a.c"), "auto_approve by policies.tools.file_write");
  EXPECT_EQ(write("/work/app/src/a.c"), "auto_approve by policies.tools.file_write");
  EXPECT_EQ(write("src/../etc/x"), "require_approval by default");
  EXPECT_EQ(write("src/../../etc/x"), "require_approval by default");
  EXPECT_EQ(write("src/../secrets/x"), "deny by policies.tools.file_write");
  EXPECT_EQ(write("/work/app/./secrets//x"), "deny by policies.tools.file_write");
  EXPECT_EQ(write("docs/ok"), "auto_approve by policies.tools.file_write");
  EXPECT_EQ(write("docs/key"), "deny by policies.tools.file_write") << "a symlink to .env";
  EXPECT_EQ(write("/home/x/.env"), "deny by policies.tools.file_write");
  EXPECT_EQ(write("/tmp/x"), "require_approval by policies.tools.file_write: outside the worktree");
}

}  // namespace
}  // namespace reeve::engine
