#include "engine/call_gate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/enum.h"
#include "engine/grants.h"
#include "engine/policy.h"
#include "engine/shell_call.h"
#include "tests/support/engine/tool_calls.h"

namespace reeve::engine {
namespace {

using model::Policy;
using testing::arguments_of;
using testing::make_call;
using testing::make_policies;
using testing::make_rule;
using testing::make_shell_call;

std::string show(const CallVerdict& verdict) {
  std::string text = fmt::format("{} by {}", base::spell(verdict.policy), verdict.rule);
  if (!verdict.reason.empty()) text += ": " + verdict.reason;
  return text;
}

std::string decide(const model::Policies& policies, const CallSubject& subject,
                   const std::vector<model::Grant>& grants = {}, const std::string& digest = "sha256:1") {
  return show(decide_call(policies, subject, digest, grants));
}

// TOOL-8: a tool that Reeve does not know needs a person.
TEST(CallGate, unknown_tool_needs_approval) {
  EXPECT_EQ(decide({}, make_call("launch_rocket", "{}")), "require_approval by unknown tool");
  EXPECT_EQ(decide({}, make_call("claude:file_read", R"({"path": "a"})")), "require_approval by unknown tool");
  EXPECT_EQ(decide({}, make_call("", "{}")), "require_approval by unknown tool");
}

// TOOL-1
TEST(CallGate, reading_is_free_beneath_the_worktree_only) {
  EXPECT_EQ(decide({}, make_call("file_read", R"({"path": "src/a.c"})")), "auto_approve by default");
  EXPECT_EQ(decide({}, make_call("file_read", R"({"path": "link"})")),
            "require_approval by default: outside the worktree");
  EXPECT_EQ(decide({}, make_call("file_read", R"({"path": "docs/key"})")),
            "require_approval by default: a file that may hold secrets");
  EXPECT_EQ(decide({}, make_call("search_files", R"({"path": ".", "glob": "{../../..,src}/*"})")),
            "require_approval by default: outside the worktree")
      << "braces are expanded before the pattern is a path";
}

// TOOL-8: an exact argument vector, however the call is written.
TEST(CallGate, shell_is_approved_by_exact_argument_vector) {
  const auto policies =
      make_policies("shell_execute", Policy::auto_approve, R"({"argv": [["git", "status"], ["make", "-j4"]]})");
  EXPECT_EQ(decide(policies, make_shell_call("git status")), "auto_approve by policies.tools.shell_execute");
  EXPECT_EQ(decide(policies, make_shell_call("git 'status'")), "auto_approve by policies.tools.shell_execute");
  EXPECT_EQ(decide(policies, make_shell_call("make -j4")), "auto_approve by policies.tools.shell_execute");
  CallSubject list = make_shell_call("git status");
  list.arguments = arguments_of(R"({"argv": ["git", "status"]})");
  EXPECT_EQ(decide(policies, list), "auto_approve by policies.tools.shell_execute");
  for (const char* text : {"git status -s", "git status; id", "git status &", "git  status > x", "make -j4 all", "git",
                           "git status *", "git status\nid", "A=b git status", "/tmp/git status", "git status #"}) {
    EXPECT_EQ(decide(policies, make_shell_call(text)), "require_approval by default") << text;
  }
}

TEST(CallGate, shell_is_approved_by_program_and_subcommand) {
  const auto policies =
      make_policies("shell_execute", Policy::auto_approve, R"({"program": ["git status", "git log", "ls"]})");
  for (const char* text : {"git status", "git status --short src", "git log -n 5", "ls -la src"}) {
    EXPECT_EQ(decide(policies, make_shell_call(text)), "auto_approve by policies.tools.shell_execute") << text;
  }
  for (const char* text : {"git push", "git", "git -C / status", "git -c core.pager=id log", "ls; id", "ls $HOME",
                           "ls *", "ls ~", "env ls", "./ls", "/tmp/git status", "'git status'"}) {
    EXPECT_EQ(decide(policies, make_shell_call(text)), "require_approval by default") << text;
  }
  EXPECT_EQ(decide(policies, make_shell_call("git log --output=/tmp/x")),
            "require_approval by policies.tools.shell_execute: git can run a command or write a file by its option "
            "--output; approve exact argument vectors instead (`argv`)");
}

// TOOL-8: never a program that the run could have replaced.
TEST(CallGate, program_must_be_out_of_reach_of_the_run) {
  for (const char* when : {R"({"program": "git status"})", R"({"argv": ["git", "status"]})"}) {
    const auto policies = make_policies("shell_execute", Policy::auto_approve, when);
    CallSubject subject = make_shell_call("git status");
    EXPECT_EQ(decide(policies, subject), "auto_approve by policies.tools.shell_execute");
    subject.program->is_writable_by_run = true;
    EXPECT_EQ(decide(policies, subject),
              "require_approval by policies.tools.shell_execute: the run could replace the program");
    subject.program = ProgramFact{.name = "git", .path = "/work/app/bin/git", .is_writable_by_run = false};
    EXPECT_EQ(decide(policies, subject),
              "require_approval by policies.tools.shell_execute: the run could replace the program");
    for (const char* path : {"", "git"}) {
      subject.program = ProgramFact{.name = "git", .path = path, .is_writable_by_run = false};
      EXPECT_EQ(decide(policies, subject),
                "require_approval by policies.tools.shell_execute: the program was not found");
    }
    subject.program = ProgramFact{.name = "ls", .path = "/usr/bin/ls", .is_writable_by_run = false};
    EXPECT_EQ(decide(policies, subject), "require_approval by policies.tools.shell_execute: the program was not found")
        << "the fact is about another program";
    subject.program.reset();
    EXPECT_EQ(decide(policies, subject), "require_approval by policies.tools.shell_execute: the program was not found");
  }
}

// Behind a link such as /usr/local/bin/ls → busybox is another program, with other options.
TEST(CallGate, program_is_judged_by_what_its_link_leads_to) {
  const auto policies = make_policies("shell_execute", Policy::auto_approve, R"({"program": ["which", "gcc"]})");
  CallSubject subject = make_shell_call("which x");
  EXPECT_EQ(decide(policies, subject), "auto_approve by policies.tools.shell_execute");
  subject.program->path = "/usr/bin/which.debianutils";
  EXPECT_EQ(decide(policies, subject), "auto_approve by policies.tools.shell_execute");
  for (const char* path : {"/usr/bin/python3.11", "/usr/bin/vim.basic", "/bin/dash", "/lib64/ld-linux-x86-64.so.2",
                           "/bin/busybox", "/usr/bin/ls", "/usr/bin/x86_64-linux-gnu-gcc-12"}) {
    subject.program->path = path;
    EXPECT_TRUE(decide(policies, subject).starts_with("require_approval by policies.tools.shell_execute: ")) << path;
  }
}

TEST(CallGate, shell_call_must_run_beneath_the_worktree_with_known_arguments) {
  const auto policies = make_policies("shell_execute", Policy::auto_approve, R"({"program": "ls"})");
  const auto with = [&](std::string_view more) {
    CallSubject subject = make_shell_call("ls");
    const base::Value arguments = arguments_of(more);
    for (const base::Member& member : *arguments.as_object()) subject.arguments.set(member.key, member.value);
    subject.cwd = find_working_folder(subject.arguments, subject.cwd).value_or(subject.cwd);
    return decide(policies, subject);
  };
  const std::string yes = "auto_approve by policies.tools.shell_execute";
  const std::string no = "require_approval by policies.tools.shell_execute: ";
  EXPECT_EQ(with(R"({"description": "List", "timeout": 1000, "cwd": "/work/app/src"})"), yes);
  EXPECT_EQ(with(R"({"dangerouslyDisableSandbox": false})"), yes);
  EXPECT_EQ(with(R"({"timeout_seconds": 60})"), yes) << "the tool host's own";
  EXPECT_EQ(with(R"({"cwd": "/etc"})"), no + "outside the worktree");
  EXPECT_EQ(with(R"({"cwd": 7})"), no + "a path that is not a string");
  EXPECT_EQ(with(R"({"env": {"LD_PRELOAD": "x"}})"), no + "an argument of unknown meaning, `env`");
  EXPECT_EQ(with(R"({"dangerouslyDisableSandbox": true})"),
            no + "an argument of unknown meaning, `dangerouslyDisableSandbox`");
  EXPECT_EQ(with(R"({"argv": ["rm"]})"), "require_approval by default") << "two commands are none";
  CallSubject elsewhere = make_shell_call("ls");
  elsewhere.cwd = "/etc";
  EXPECT_EQ(decide(policies, elsewhere), no + "outside the worktree");
}

// A plain `auto_approve` would approve any text.
TEST(CallGate, shell_is_never_approved_without_saying_what) {
  EXPECT_EQ(decide(make_policies("shell_execute", Policy::auto_approve, "{}"), make_shell_call("ls")),
            "require_approval by policies.tools.shell_execute: the rule has neither `argv` nor `program`");
  EXPECT_EQ(decide(make_policies("shell_execute", Policy::auto_approve, R"({"role": "*"})"), make_shell_call("ls")),
            "require_approval by policies.tools.shell_execute: the rule has neither `argv` nor `program`");
}

// TOOL-8: a denial that cannot be checked is at least a question.
TEST(CallGate, denial_that_cannot_be_checked_asks) {
  model::Policies policies;
  policies.tools["shell_execute"] = {make_rule(Policy::auto_approve, R"({"argv": [["env", "git", "push"], ["ls"]]})"),
                                     make_rule(Policy::deny, R"({"program": "git push"})")};
  EXPECT_EQ(decide(policies, make_shell_call("ls")), "auto_approve by policies.tools.shell_execute");
  for (const char* text : {"git push", "git push --force origin", "/usr/bin/git push", "/opt/x/git push"}) {
    EXPECT_EQ(decide(policies, make_shell_call(text)), "deny by policies.tools.shell_execute") << text;
  }
  EXPECT_EQ(decide(policies, make_shell_call("env git push")),
            "require_approval by policies.tools.shell_execute: a stricter rule may match; whether it does cannot be "
            "decided");
  for (const char* text : {"git -C x push", "git push; id", "sh -c 'git push'"}) {
    EXPECT_EQ(decide(policies, make_shell_call(text)), "require_approval by default") << text;
  }
  CallSubject renamed = make_shell_call("g push");
  renamed.program->path = "/usr/bin/git";
  EXPECT_EQ(decide(policies, renamed), "deny by policies.tools.shell_execute");

  model::Policies files = make_policies("file_write", Policy::deny, R"({"path": "secrets/**"})");
  files.tools["file_write"].push_back({.policy = Policy::auto_approve});
  EXPECT_EQ(decide(files, make_call("file_write", R"({"content": "x"})")),
            "require_approval by policies.tools.file_write: a stricter rule may match; whether it does cannot be "
            "decided");
  EXPECT_EQ(decide(files, make_call("file_write", R"({"paths": ["a", "secrets/b"]})")),
            "deny by policies.tools.file_write")
      << "every path of the call counts";
}

TEST(CallGate, every_path_of_an_approved_call_must_match) {
  const auto policies = make_policies("file_write", Policy::auto_approve, R"({"path": ["src/**", "docs/**"]})");
  EXPECT_EQ(decide(policies, make_call("file_write", R"({"paths": ["src/a", "docs/b"]})")),
            "auto_approve by policies.tools.file_write");
  for (const char* arguments :
       {R"({"paths": ["src/a", "x"]})", R"({"path": "src/a", "file": "x"})", R"({"path": "src/../x"})",
        R"({"path": "docs/key"})", R"({"path": "link"})", R"({"content": "x"})", R"({"paths": []})"}) {
    EXPECT_EQ(decide(policies, make_call("file_write", arguments)), "require_approval by default") << arguments;
  }
  const auto all = make_policies("file_write", Policy::auto_approve, R"({"path": "**"})");
  EXPECT_EQ(decide(all, make_call("file_write", R"({"path": "sub/.git/hooks/pre-commit"})")),
            "require_approval by policies.tools.file_write: a file of git itself");
}

TEST(CallGate, role_project_and_sandbox_are_conditions) {
  const CallSubject call = make_call("git_commit", "{}");
  const auto by = [&](std::string_view when) {
    return decide_call(make_policies("git_commit", Policy::auto_approve, when), call, "", {}).policy;
  };
  EXPECT_EQ(by(R"({"role": "coder"})"), Policy::auto_approve);
  EXPECT_EQ(by(R"({"role": ["x", "co*"], "project": "/home/me/*"})"), Policy::auto_approve);
  EXPECT_EQ(by(R"({"role": "coder", "project": "/home/me/other"})"), Policy::require_approval);
  EXPECT_EQ(by(R"({"sandbox": "none"})"), Policy::auto_approve);
  CallSubject nobody = call;
  nobody.role.clear();
  EXPECT_EQ(decide(make_policies("git_commit", Policy::auto_approve, R"({"role": "*"})"), nobody),
            "require_approval by default");
}

// TOOL-8: until the guard confines network and HOME, nothing may rely on it.
TEST(CallGate, conditions_on_confinement_match_nothing_and_say_so) {
  CallSubject guarded = make_shell_call("ls");
  guarded.sandbox = model::Sandbox::guard;
  for (const char* when : {R"({"sandbox": "guard"})", R"({"network": "none"})", R"({"program": "ls", "network": "x"})",
                           R"({"program": "ls", "sandbox": ["guard", "none"]})"}) {
    const auto policies = make_policies("shell_execute", Policy::auto_approve, when);
    EXPECT_EQ(decide(policies, guarded), "require_approval by default") << when;
    EXPECT_EQ(find_inert_conditions(policies).size(), 1U) << when;
  }
  EXPECT_EQ(decide(make_policies("git_commit", Policy::deny, R"({"sandbox": "guard"})"), make_call("git_commit", "{}")),
            "require_approval by default");
  EXPECT_TRUE(find_inert_conditions(make_policies("git_push", Policy::deny, R"({"sandbox": "none"})")).empty());
}

// TOOL-1: a denial gives way only to `even_if_denied`, wherever it stands.
TEST(CallGate, denials_win) {
  model::Policies policies;
  policies.tools["file_write"] = {make_rule(Policy::auto_approve, R"({"path": "src/**"})"),
                                  make_rule(Policy::deny, R"({"path": "**/*.sql"})")};
  EXPECT_EQ(decide(policies, make_call("file_write", R"({"path": "src/a.sql"})")), "deny by policies.tools.file_write");
  policies.tools["git_push"] = {{.policy = Policy::deny}};
  policies.roles["coder"]["git_push"] = {{.policy = Policy::auto_approve}};
  policies.tools["file_delete"] = {{.policy = Policy::auto_approve}};
  EXPECT_EQ(decide(policies, make_call("git_push", "{}")), "deny by policies.tools.git_push");
  EXPECT_EQ(decide(policies, make_call("file_delete", R"({"path": "a"})")), "deny by default");
  policies.roles["coder"]["git_push"].front().even_if_denied = true;
  EXPECT_EQ(decide(policies, make_call("git_push", "{}")), "auto_approve by policies.roles.coder.git_push");
}

// TOOL-8: a grant answers a question, never a denial.
TEST(CallGate, grant_approves_and_is_named) {
  model::Grant grant = make_grant(make_shell_call("git status"), "sha256:1", {});
  grant.grant_id = base::GrantId(3);
  EXPECT_EQ(decide({}, make_shell_call("git status"), {grant}), "auto_approve by GR-3");
  EXPECT_EQ(decide_call({}, make_shell_call("git status"), "sha256:1", std::vector{grant}).grant, base::GrantId(3));
  EXPECT_EQ(decide({}, make_shell_call("git status"), {grant}, "sha256:2"), "require_approval by default");
  EXPECT_EQ(decide(make_policies("shell_execute", Policy::deny, "{}"), make_shell_call("git status"), {grant}),
            "deny by policies.tools.shell_execute");
}

// A wider grant was made without seeing this call; whether a rule denies it cannot be decided.
TEST(CallGate, wide_grant_gives_way_to_a_denial_that_cannot_be_checked) {
  const auto policies = make_policies("shell_execute", Policy::deny, R"({"network": "open"})");
  const model::Grant wide = make_grant(make_shell_call("ls"), "sha256:1", {.match = model::GrantMatch::program});
  EXPECT_EQ(decide({}, make_shell_call("ls src"), {wide}), "auto_approve by GR-0");
  EXPECT_EQ(decide(policies, make_shell_call("ls src"), {wide}), "require_approval by default");
}

TEST(CallGate, needed_facts_are_paths_and_the_program) {
  EXPECT_EQ(find_needed_facts(make_call("file_read", R"({"path": "a", "files": ["b", "c"]})")).paths,
            (std::vector<std::string>{"a", "b", "c"}));
  const NeededFacts shell = find_needed_facts(make_shell_call("git status"));
  EXPECT_EQ(shell.paths, std::vector<std::string>{"/work/app"});
  EXPECT_EQ(shell.argv, (std::vector<std::string>{"git", "status"}));
  EXPECT_TRUE(find_needed_facts(make_shell_call("git status; id")).argv.empty());
}

// APR-10
TEST(CallGate, digest_covers_tool_arguments_and_folder) {
  const auto digest = [](std::string_view tool, std::string_view arguments, std::uint64_t inode = 1) {
    return digest_of_call(tool, arguments_of(arguments), {.device = 1, .inode = inode});
  };
  const std::string one = digest("t", R"({"a": "1", "b": [2]})");
  EXPECT_TRUE(one.starts_with("sha256:"));
  EXPECT_EQ(one, digest("t", R"({"b": [2], "a": "1"})")) << "the order of members says nothing";
  for (const char* other :
       {R"({"a": "1", "b": [3]})", R"({"a": 1, "b": [2]})", R"({"a": "1", "b": 2})", R"({"a": "1"})",
        R"({"a": "1", "b": [2], "c": null})", R"({"a": "1", "b": [[2]]})", R"(["a", "1"])", R"({"ab": "1"})"}) {
    EXPECT_NE(one, digest("t", other)) << other;
  }
  EXPECT_NE(one, digest("u", R"({"a": "1", "b": [2]})"));
  EXPECT_NE(one, digest("t", R"({"a": "1", "b": [2]})", 2));
  EXPECT_EQ(digest("shell_execute", R"({"command": "ls", "description": "x"})"),
            digest("shell_execute", R"({"command": "ls"})"))
      << "agents describe the same command in other words each time";
  EXPECT_NE(digest("t", R"({"description": "x"})"), digest("t", "{}"));
}

}  // namespace
}  // namespace reeve::engine
