#include "engine/policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum.h"
#include "json/parse.h"
#include "tests/support/engine/tool_calls.h"

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

// TOOL-8: no rule lets an agent change what gates it, or what git and other programs take for their settings.
TEST(Policy, writing_sensitive_files_needs_approval_whatever_the_rules_say) {
  model::Policies loose;
  for (const char* tool : {"file_write", "file_delete", "my_tool"}) {
    loose.tools[tool] = {{.policy = Policy::auto_approve, .when = {{"path", text("**")}}, .even_if_denied = true}};
    for (const char* path : {".claude/settings.json",
                             ".claude/hooks/x",
                             ".mcp.json",
                             "sub/.mcp.json",
                             ".reeve/config.yaml",
                             ".reeve/prompts/coder.md",
                             ".codex/config.toml",
                             ".gemini/settings.json",
                             ".qwen/settings.json",
                             "AGENTS.md",
                             "CLAUDE.md",
                             "opencode.json",
                             ".git/config",
                             ".git",
                             "sub/.git",
                             "sub/.GIT/hooks/x",
                             "src/x/HEAD",
                             ".env",
                             "deploy/server.key",
                             ".npmrc"}) {
      EXPECT_EQ(verdict(loose, "crew", tool, fmt::format(R"({{"path": "{}"}})", path)).substr(0, 19),
                "require_approval by")
          << tool << " " << path;
    }
    EXPECT_EQ(verdict(loose, "crew", tool, R"({"path": "src/head.c"})").substr(0, 15), "auto_approve by") << tool;
  }
  EXPECT_EQ(verdict(loose, "crew", "file_write", R"({"path": ".claude/settings.json"})"),
            "require_approval by policies.tools.file_write: the configuration of an agent");
  EXPECT_EQ(verdict(loose, "crew", "file_write", R"({"path": ".reeve/config.yaml"})"),
            "require_approval by policies.tools.file_write: a file of Reeve itself");
  EXPECT_EQ(verdict(loose, "crew", "file_write", R"({"paths": ["src/a", ".env"]})"),
            "require_approval by policies.tools.file_write: a file that may hold secrets");
  loose.tools["git_add"] = {{.policy = Policy::auto_approve}};
  EXPECT_EQ(verdict(loose, "crew", "git_add", R"({"paths": ["AGENTS.md"]})"), "auto_approve by policies.tools.git_add")
      << "staging changes no file";
}

// TOOL-1: a folder or a pattern is as secret as what an agent's own tool reads there.
TEST(Policy, reading_a_folder_with_secrets_needs_approval) {
  CallSubject subject = testing::make_call("search_files", R"({"path": "/work/app", "pattern": "x"})");
  const auto decide = [&] {
    const PolicyVerdict found =
        resolve_policy(testing::make_policies(subject.tool, Policy::auto_approve, "{}"), subject);
    return std::string(base::spell(found.policy)) + " " + found.reason;
  };
  EXPECT_EQ(decide(), "auto_approve ");
  subject.place.may_hold_secrets = {"/work/app"};
  EXPECT_EQ(decide(),
            "require_approval it may read files that may hold secrets; the tool `search_files` of Reeve skips them");
  EXPECT_FALSE(only_reads(subject.tool, subject.arguments, subject.place));
  subject = testing::make_call("file_read", R"({"path": "src/a.c"})");
  subject.place.may_hold_secrets = {"/work/app"};
  EXPECT_EQ(decide(), "auto_approve ") << "one plain file";
}

// A wildcard may stand for a link or for nothing, so that `..` after it may leave the worktree.
TEST(Policy, climbing_after_a_wildcard_counts_as_outside) {
  for (const char* path : {"src/*/../x", "src/**/../../x", "[a]/../x", "a?/../x", "{a,b}/../x", "a\\\\*/../x"}) {
    EXPECT_EQ(verdict({}, "crew", "list_directory", fmt::format(R"({{"path": "{}"}})", path)),
              "require_approval by default: outside the worktree")
        << path;
  }
  for (const char* path : {"src/../*/x", "**/*.c", "app/[id]/page.tsx", "a*/..b"}) {
    EXPECT_EQ(verdict({}, "crew", "list_directory", fmt::format(R"({{"path": "{}"}})", path)),
              "auto_approve by default")
        << path;
  }
}

// A rule that denies a folder may be met by a pattern for it.
TEST(Policy, denied_folder_behind_a_pattern_asks) {
  model::Policies policies;
  policies.tools["list_directory"] = {{.policy = Policy::deny, .when = {{"path", text("private/**")}}}};
  policies.tools["my_tool"] = {{.policy = Policy::auto_approve},
                               {.policy = Policy::deny, .when = {{"path", text("private/**")}}}};
  EXPECT_EQ(verdict(policies, "crew", "list_directory", R"({"path": "private/a"})"),
            "deny by policies.tools.list_directory");
  EXPECT_EQ(verdict(policies, "crew", "list_directory", R"({"path": "priv*/a"})").substr(0, 19), "require_approval by");
  EXPECT_EQ(verdict(policies, "crew", "list_directory", R"({"path": "src/a"})"), "auto_approve by default");
  EXPECT_EQ(verdict(policies, "crew", "my_tool", R"({"path": "x*/../private/a"})").substr(0, 19),
            "require_approval by");
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
