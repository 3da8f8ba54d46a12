#include "engine/grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine/tool_calls.h"

namespace reeve::engine {
namespace {

using model::GrantMatch;
using model::GrantScope;
using model::Policy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_call;
using testing::make_policies;
using testing::make_shell_call;

const GrantTerms by_program{.match = GrantMatch::program};

std::string objection(const CallSubject& subject, const GrantTerms& terms, const model::Policies& policies = {}) {
  return find_grant_objection(policies, subject, terms).value_or("");
}

// TOOL-8: a grant never overrides a denial.
TEST(Grants, denied_calls_are_not_granted) {
  EXPECT_THAT(objection(make_call("force_push", "{}"), {}), HasSubstr("default denies the call"));
  EXPECT_THAT(objection(make_shell_call("ls"), {}, make_policies("shell_execute", Policy::deny, "{}")),
              HasSubstr("policies.tools.shell_execute denies"));
  EXPECT_THAT(objection(make_shell_call("git log"), by_program,
                        make_policies("shell_execute", Policy::deny, R"({"network": "x"})")),
              HasSubstr("may cover other such calls"));
}

TEST(Grants, exact_covers_the_same_digest_and_tool_only) {
  const CallSubject call = make_shell_call("git push origin main");
  EXPECT_EQ(objection(call, {}), "");
  const model::Grant grant = make_grant(call, "sha256:1", {});
  EXPECT_EQ(grant.digest, "sha256:1");
  EXPECT_EQ(grant.agent, "claude");
  EXPECT_EQ(grant.describes, "exactly this call: git push origin main");
  EXPECT_TRUE(covers(grant, call, "sha256:1"));
  EXPECT_FALSE(covers(grant, call, "sha256:2"));
  EXPECT_FALSE(covers(grant, call, ""));
  EXPECT_FALSE(covers(grant, make_call("file_write", R"({"path": "a"})"), "sha256:1"));
  EXPECT_THAT(describe_extent(grant), IsEmpty());
}

TEST(Grants, program_covers_any_arguments_of_the_resolved_program) {
  const CallSubject call = make_shell_call("git log -n 5");
  EXPECT_EQ(objection(call, by_program), "");
  const model::Grant grant = make_grant(call, "sha256:1", by_program);
  EXPECT_THAT(grant.program, ElementsAre("/usr/bin/git", "log"));
  EXPECT_EQ(grant.describes, "/usr/bin/git log in any folder of the worktree");
  EXPECT_TRUE(covers(grant, make_shell_call("git log --oneline src"), ""));
  for (const char* text : {"git push", "git log; id", "git log > x", "git -C / log", "git log --output=x", "git", "log",
                           "git log $HOME", "/opt/git log"}) {
    EXPECT_FALSE(covers(grant, make_shell_call(text), "sha256:1")) << text;
  }
  CallSubject replaced = make_shell_call("git log");
  replaced.program->is_writable_by_run = true;
  EXPECT_FALSE(covers(grant, replaced, ""));
  replaced.program = ProgramFact{.name = "git", .path = "/opt/bin/git", .is_writable_by_run = false};
  EXPECT_FALSE(covers(grant, replaced, "")) << "another program of that name";
  EXPECT_EQ(describe_extent(grant).front(),
            "/usr/bin/git log with any other arguments, also on files outside the worktree");
}

TEST(Grants, programs_that_run_others_are_not_granted_by_program) {
  for (const char* text : {"python3 x.py", "python3.11 x.py", "bash x.sh", "sh -c ls", "env ls", "xargs ls", "sudo ls",
                           "make", "npm test", "npx x", "docker run x", "ssh host ls", "find . -exec id", "git",
                           "git -c core.pager=id log", "vi x", "awk x y", "less x"}) {
    EXPECT_THAT(objection(make_shell_call(text), by_program), HasSubstr("not by program")) << text;
    EXPECT_EQ(objection(make_shell_call(text), {}), "") << "exactly this one can be granted: " << text;
  }
  EXPECT_THAT(objection(make_shell_call("ls; id"), by_program), HasSubstr("not one simple command"));
  CallSubject call = make_shell_call("ls");
  call.program->is_writable_by_run = true;
  EXPECT_THAT(objection(call, by_program), HasSubstr("could replace"));
  EXPECT_THAT(objection(make_call("file_write", R"({"path": "a"})"), by_program), HasSubstr("applies to shell"));
}

// TOOL-8: the same file under another name would be judged by that name's options.
TEST(Grants, program_is_its_name_and_its_file) {
  const model::Grant grant = make_grant(make_shell_call("git log"), "sha256:1", by_program);
  CallSubject renamed = make_shell_call("ls log");
  renamed.program->path = "/usr/bin/git";
  EXPECT_FALSE(covers(grant, renamed, ""));
  CallSubject compiler = make_shell_call("gcc -c x.c");
  compiler.program->path = "/usr/bin/x86_64-linux-gnu-gcc-12";
  EXPECT_EQ(objection(compiler, by_program),
            "not by program: gcc is not among the programs that only read, and may run what files of the project say; "
            "use `exact`");
  CallSubject link = make_shell_call("ls -l");
  link.program->path = "/bin/busybox";
  EXPECT_EQ(objection(link, by_program), "not by program: ls is the program /bin/busybox; use `exact`");
}

// A wide grant is for folders in which nobody has looked.
TEST(Grants, program_needs_the_repository_of_the_worktree) {
  const model::Grant grant = make_grant(make_shell_call("git status"), "sha256:1", by_program);
  CallSubject nested = make_shell_call("git status");
  nested.finds_own_repository = false;
  EXPECT_FALSE(covers(grant, nested, ""));
  EXPECT_THAT(objection(nested, by_program), HasSubstr("git would not use the repository of the worktree"));
}

TEST(Grants, path_is_for_tools_whose_paths_are_all_they_touch) {
  const GrantTerms all{.match = GrantMatch::path, .path = "**"};
  for (const char* tool : {"mcp:disk/erase", "TodoWrite", "git_push"}) {
    const CallSubject call = make_call(tool, R"({"path": "src/a", "mode": "force"})");
    EXPECT_THAT(objection(call, all), HasSubstr("is not known; use `exact`")) << tool;
    model::Grant grant = make_grant(call, "sha256:1", all);
    EXPECT_FALSE(covers(grant, call, "")) << tool;
  }
}

TEST(Grants, path_covers_no_folder_with_secrets) {
  const GrantTerms all{.match = GrantMatch::path, .path = "**"};
  CallSubject search = make_call("search_files", R"({"path": "src", "pattern": "x"})");
  EXPECT_EQ(objection(search, all), "");
  const model::Grant grant = make_grant(search, "sha256:1", all);
  EXPECT_TRUE(covers(grant, search, ""));
  search.place.may_hold_secrets = {"src"};
  EXPECT_FALSE(covers(grant, search, ""));
  EXPECT_NE(objection(search, all), "");
}

TEST(Grants, path_covers_files_that_match_beneath_the_worktree) {
  const GrantTerms terms{.match = GrantMatch::path, .path = "src/**"};
  const CallSubject call = make_call("file_write", R"({"path": "src/a.c"})");
  EXPECT_EQ(objection(call, terms), "");
  const model::Grant grant = make_grant(call, "sha256:1", terms);
  EXPECT_TRUE(covers(grant, make_call("file_write", R"({"paths": ["src/b", "/work/app/src/c/d"]})"), ""));
  for (const char* arguments :
       {R"({"path": "a"})", R"({"path": "src/../a"})", R"({"path": "src/../../a"})", R"({"path": "/etc/passwd"})",
        R"({"paths": ["src/a", "b"]})", R"({"path": "src/.env"})", R"({"path": "src/.git/hooks/x"})",
        R"({"path": "src/.claude/settings.json"})", R"({"path": "src/.reeve/config.yaml"})", R"({"content": "x"})",
        R"({"path": 7})", R"({"path": "src/x/.git"})", R"({"path": "src/x/HEAD"})", R"({"path": "src/AGENTS.md"})",
        R"({"path": "src/*/../a"})"}) {
    EXPECT_FALSE(covers(grant, make_call("file_write", arguments), "")) << arguments;
  }
  EXPECT_FALSE(covers(grant, make_call("file_read", R"({"path": "src/a.c"})"), ""));
  for (const char* glob : {"", "/etc/**", "~/x", "../**", "src/../**", "docs/**"}) {
    EXPECT_NE(objection(call, {.match = GrantMatch::path, .path = glob}), "") << glob;
  }
  EXPECT_NE(objection(make_shell_call("ls"), terms), "");
}

TEST(Grants, links_are_followed_before_a_path_is_compared) {
  const GrantTerms all{.match = GrantMatch::path, .path = "**"};
  EXPECT_EQ(objection(make_call("file_write", R"({"path": "docs/a"})"), all), "");
  EXPECT_NE(objection(make_call("file_write", R"({"path": "link"})"), all), "");
  EXPECT_NE(objection(make_call("file_write", R"({"path": "docs/key"})"), all), "");
}

TEST(Grants, wider_scopes_say_what_else_they_allow) {
  model::Grant grant = make_grant(make_shell_call("ls"), "sha256:1", {.scope = GrantScope::project});
  EXPECT_THAT(describe_extent(grant), ElementsAre("the same in every run of claude in this project"));
  grant = make_grant(make_shell_call("ls"), "sha256:1", {.scope = GrantScope::execution, .match = GrantMatch::program});
  EXPECT_EQ(describe_extent(grant).size(), 3U);
}

}  // namespace
}  // namespace reeve::engine
