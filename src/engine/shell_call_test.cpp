#include "engine/shell_call.h"

#include <gmock/gmock.h>

#include "engine/call_gate.h"
#include "engine/tool_names.h"
#include "tests/support/engine/tool_calls.h"

namespace reeve::engine {
namespace {

using testing::arguments_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_shell_call;

std::string objection(const CallSubject& subject, ShellExtent extent = ShellExtent::program) {
  return find_shell_objection(subject, extent);
}

constexpr const char* other_repository = "git would not use the repository of the worktree";
constexpr const char* other_options = "an option of git before its subcommand may choose another repository";

// TOOL-8: the settings of whatever git takes for a repository run programs.
TEST(ShellCall, git_runs_only_in_the_repository_of_the_worktree) {
  for (const char* text : {"git status", "git --no-pager log", "/usr/bin/git diff", "gh pr list", "tig"}) {
    CallSubject call = make_shell_call(text);
    EXPECT_EQ(objection(call, ShellExtent::argv), "") << text;
    call.finds_own_repository = false;
    EXPECT_EQ(objection(call, ShellExtent::argv), other_repository) << text;
  }
  CallSubject behind_a_link = make_shell_call("show x");
  behind_a_link.program->path = "/usr/bin/git";
  behind_a_link.finds_own_repository = false;
  EXPECT_EQ(objection(behind_a_link, ShellExtent::argv), other_repository);
  CallSubject other = make_shell_call("ls");
  other.finds_own_repository = false;
  EXPECT_EQ(objection(other), "");
}

TEST(ShellCall, options_that_choose_a_repository_are_objections) {
  for (const char* text :
       {"git -C src/x status", "git --git-dir src/x status", "git --git-dir=src/x status", "git --work-tree=x status",
        "git --no-pager -C x status", "git -c core.fsmonitor=x status", "git --bare status", "git --exec-path=x status",
        "git --namespace=x log", "git -p log", "git --config-env=a=B status"}) {
    EXPECT_EQ(objection(make_shell_call(text), ShellExtent::argv), other_options) << text;
    EXPECT_NE(objection(make_shell_call(text)), "") << text;
  }
}

// A shell of the agent would run the text in its own way.
TEST(ShellCall, only_plain_shells_are_harmless) {
  const auto with_shell = [](std::string_view value) {
    CallSubject call = make_shell_call("git status");
    call.arguments.set("shell", arguments_of(value));
    return objection(call);
  };
  for (const char* shell : {R"("/bin/bash -lc")", R"("/bin/sh -c")", R"("/usr/bin/zsh -lc")", "null"}) {
    EXPECT_EQ(with_shell(shell), "") << shell;
  }
  for (const char* shell : {R"("./evil")", R"("/bin/bash")", R"("bash -lc")", R"("/bin/bash -lc x")",
                            R"("/wt/bash -c")", R"("/bin/bash  -c")", R"("")", "7", "true", R"(["/bin/sh -c"])"}) {
    EXPECT_EQ(with_shell(shell), "an argument of unknown meaning, `shell`") << shell;
  }
  CallSubject call = make_shell_call("git status");
  for (const char* arguments : {R"({"cmd":"git status","shell":"./evil"})",
                                R"({"command":["/bin/bash","-lc","git status"],"shell":"./evil"})"}) {
    call.arguments = name_call("codex", "exec_command", arguments_of(arguments), "/work/app").arguments;
    EXPECT_EQ(objection(call), "an argument of unknown meaning, `shell`") << arguments;
  }
  call.arguments =
      name_call("codex", "shell", arguments_of(R"({"command":["/bin/bash","-lc","git status"]})"), "/work/app")
          .arguments;
  EXPECT_EQ(objection(call), "");
}

// The folder that the arguments name is the one in which everything is looked up.
TEST(ShellCall, command_runs_in_the_folder_that_its_arguments_name) {
  const auto folder = [](std::string_view arguments) {
    return find_working_folder(arguments_of(arguments), "/work/app").value_or("unclear");
  };
  EXPECT_EQ(folder(R"({"command": "ls"})"), "/work/app");
  EXPECT_EQ(folder(R"({"cwd": "/work/app/src"})"), "/work/app/src");
  EXPECT_EQ(folder(R"({"workdir": "/work/app/src"})"), "/work/app/src");
  EXPECT_EQ(folder(R"({"cwd": "/work/app/src", "workdir": "/work/app/src"})"), "/work/app/src");
  for (const char* unclear : {R"({"cwd": "/a", "workdir": "/b"})", R"({"cwd": "src"})", R"({"cwd": "~/x"})",
                              R"({"cwd": 7})", R"({"cwd": null})", R"({"directory": ["/a"]})"}) {
    EXPECT_EQ(folder(unclear), "unclear") << unclear;
  }
  CallSubject call = make_shell_call("ls");
  call.arguments.set("cwd", base::Value::string("/work/app/src"));
  EXPECT_EQ(objection(call), "it is unclear in which folder it runs") << "the facts are those of another folder";
  call.cwd = "/work/app/src";
  EXPECT_EQ(objection(call), "");
  EXPECT_THAT(find_needed_facts(call).paths, ElementsAre("/work/app/src", "/work/app/src"));
}

// In each folder it is another program.
TEST(ShellCall, program_named_relative_to_a_folder_is_not_approved) {
  for (const char* text : {"../../../usr/bin/git status", "./ls", "bin/ls"}) {
    CallSubject call = make_shell_call(text);
    call.program->path = "/usr/bin/ls";
    for (const ShellExtent extent : {ShellExtent::argv, ShellExtent::program}) {
      EXPECT_EQ(objection(call, extent), "the program is named relative to a folder") << text;
    }
  }
}

// TOOL-8: a grant of exactly these words is not one of exactly what they run.
TEST(ShellCall, exact_approval_does_not_bind_the_files_that_it_runs) {
  const auto unbound = [](const char* text, std::vector<std::string> files = {}, bool is_replaceable = false) {
    CallSubject call = make_shell_call(text);
    call.writable_files = std::move(files);
    if (call.program) call.program->is_writable_by_run = is_replaceable;
    return describe_unbound(call);
  };
  EXPECT_THAT(unbound("./x.sh", {"./x.sh"}, true), ElementsAre("whatever `./x.sh` contains later"));
  EXPECT_THAT(unbound("sh x.sh", {"x.sh"}), ElementsAre("whatever `x.sh` contains later"));
  EXPECT_THAT(unbound("/opt/run x.sh", {"x.sh"}), ElementsAre("whatever `x.sh` contains later"));
  EXPECT_THAT(unbound("python3 -m pytest"), ElementsAre("whatever `python3` runs by the files of the worktree later"));
  EXPECT_THAT(unbound("make"), ElementsAre("whatever `make` runs by the files of the worktree later"));
  EXPECT_THAT(unbound("npm test"), ElementsAre("whatever `npm` runs by the files of the worktree later"));
  EXPECT_THAT(unbound("./x.sh && ls"), ElementsAre("whatever the programs and scripts in this text contain later"));
  EXPECT_THAT(unbound("cat x.sh", {"x.sh"}), IsEmpty()) << "it is only read";
  EXPECT_THAT(unbound("git push origin main"), IsEmpty());
  EXPECT_THAT(unbound("git status"), IsEmpty());
  CallSubject nested = make_shell_call("git status");
  nested.finds_own_repository = false;
  EXPECT_THAT(describe_unbound(nested), ElementsAre(HasSubstr("the settings of the repository")));
  CallSubject missing = make_shell_call("ls");
  missing.program.reset();
  EXPECT_THAT(describe_unbound(missing), ElementsAre("whatever `ls` contains later"));
  EXPECT_THAT(describe_unbound(testing::make_call("file_write", R"({"path": "a"})")), IsEmpty());
}

// A stricter rule is not missed because the program that starts another is not known.
TEST(ShellCall, unknown_program_that_names_a_denied_one_may_start_it) {
  model::Policies policies = testing::make_policies("shell_execute", model::Policy::auto_approve,
                                                    R"({"argv": [["runit", "git", "push"], ["runit", "sh", "x"],
                                                                 ["runit", "/opt/git", "push"], ["runit", "x"]]})");
  policies.tools["shell_execute"].push_back(testing::make_rule(model::Policy::deny, R"({"program": "git push"})"));
  for (const char* text : {"runit git push", "runit sh x", "runit /opt/git push"}) {
    EXPECT_EQ(decide_call(policies, make_shell_call(text), "", {}).policy, model::Policy::require_approval) << text;
  }
  EXPECT_EQ(decide_call(policies, make_shell_call("runit x"), "", {}).policy, model::Policy::auto_approve);
}

}  // namespace
}  // namespace reeve::engine
