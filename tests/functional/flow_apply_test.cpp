#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// `flow diff` and `flow apply`: the changes of an execution as a whole (ISO-3, ISO-4), with the built daemon and git.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class FlowApply : public testing::FlowTest {
 protected:
  FlowApply() {
    git({"init", "-q", "-b", "main"});
    write("file.txt", "first\n");
    write(".gitignore", ".reeve/state\n.worktrees\n");
  }
  void write(const std::string& name, const std::string& text) const { scratch().write("project/" + name, text); }
  std::string git(const Words& words) const {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  void commit_workflow(const std::string& name, const std::string& yaml) const {
    write_workflow(name, yaml);
    git({"add", "-A"});
    git({"commit", "-qm", name});
  }
  bool has(const std::string& name) const { return std::filesystem::exists(project() / name); }
};

// The second change builds on the first.
TEST_F(FlowApply, whole_change_is_shown_and_then_applied) {
  commit_workflow("two", chain("two", {{"a", "echo 1 > one.txt"}, {"b", "echo 2 >> one.txt; echo 3 > file.txt"}}) +
                             "config: {apply: manual}\n");
  const Outcome run = reeve({"flow", "run", "two"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("completed, not in your checkout"), HasSubstr("reeve flow apply EX-1")));
  EXPECT_THAT(reeve({"flow", "list"}).out, HasSubstr("\tnot in your checkout\t"));
  EXPECT_THAT(reeve({"flow", "show", "EX-1"}).out, HasSubstr("execution\tunapplied_patches\t2\n"));
  const Outcome diff = reeve({"flow", "diff", "EX-1"});
  EXPECT_EQ(diff.code, 0) << diff.err;
  EXPECT_THAT(diff.out, AllOf(HasSubstr("+++ b/one.txt\n"), HasSubstr("+1\n+2\n"), HasSubstr("-first\n+3\n")));
  EXPECT_FALSE(has("one.txt")) << "looking changes nothing";
  const Outcome applied = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.out, HasSubstr("EX-1\tapplied\t"));
  EXPECT_EQ(testing::read_text(project() / "one.txt"), "1\n2\n");
  EXPECT_EQ(testing::read_text(project() / "file.txt"), "3\n");
  EXPECT_EQ(git({"status", "--porcelain"}), "");
  EXPECT_THAT(reeve({"flow", "list"}).out, Not(HasSubstr("not in your checkout")));
  EXPECT_THAT(reeve({"patch", "list", "EX-1"}).out, Not(HasSubstr("validated")));
  const Outcome again = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("EX-1\tnothing\t"));
}

// ISO-3: only a clean checkout, and every gate on exactly the tree that will be written.
TEST_F(FlowApply, dirty_checkout_is_refused_and_gates_run_on_the_merge) {
  configure(
      "tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\nroles:\n  coder: {tool: sh}\ngates:\n  apart: {command: "
      "[sh, -c, \"! test -e one.txt || ! test -e mine.txt\"]}\n");
  commit_workflow("gated", R"(id: gated
name: gated
entry_point: make
nodes:
  - {id: make, type: task, task_config: {role: coder, task_template: "echo 1 > one.txt", gates: [apart]}}
edges: []
config: {apply: manual}
)");
  EXPECT_EQ(reeve({"flow", "run", "gated"}).code, 0);
  write("file.txt", "changed\n");
  const Outcome dirty = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(dirty.code, 4) << dirty.err;
  EXPECT_THAT(dirty.err, HasSubstr("not clean"));
  EXPECT_FALSE(has("one.txt"));
  git({"checkout", "-q", "file.txt"});
  write("mine.txt", "mine\n");
  git({"add", "-A"});
  git({"commit", "-qm", "mine"});
  const Outcome held = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(held.code, 4) << held.err;
  EXPECT_THAT(held.err, AllOf(HasSubstr("patch.gate_refused"), HasSubstr("apart")));
  EXPECT_FALSE(has("one.txt"));
  git({"rm", "-q", "mine.txt"});
  git({"commit", "-qm", "without mine"});
  const Outcome applied = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_TRUE(has("one.txt"));
}

// APR-10: an open question is answered, not bypassed.
TEST_F(FlowApply, open_question_comes_first) {
  commit_workflow("asks", chain("asks", {{"a", "echo 1 > one.txt"}}) + "config: {apply: on_approval}\n");
  EXPECT_EQ(reeve({"flow", "run", "asks"}).code, 0);
  const Outcome asked = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(asked.code, 90) << asked.err;
  EXPECT_THAT(asked.out, AllOf(HasSubstr("EX-1\tasked\t"), HasSubstr("AP-1")));
  EXPECT_FALSE(has("one.txt"));
}

// ISO-4: files that control agents always ask, whoever applies.
TEST_F(FlowApply, files_that_control_agents_ask) {
  commit_workflow("sly", chain("sly", {{"a", "echo 1 > AGENTS.md"}}) + "config: {apply: manual}\n");
  EXPECT_EQ(reeve({"flow", "run", "sly"}).code, 0);
  const Outcome asked = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(asked.code, 90) << asked.err;
  EXPECT_FALSE(has("AGENTS.md"));
}

// APR-11
TEST_F(FlowApply, tool_cannot_apply_an_execution) {
  commit_workflow("one", chain("one", {{"a", "echo 1 > one.txt"}}) + "config: {apply: manual}\n");
  EXPECT_EQ(reeve({"flow", "run", "one"}).code, 0);
  const Outcome inside =
      reeve({"run", "--", testing::reeve_binary(), "flow", "apply", "EX-1", "--state", state().string()});
  EXPECT_EQ(inside.code, 5) << inside.err;
  EXPECT_FALSE(has("one.txt"));
}

TEST_F(FlowApply, only_completed_executions_are_applied_as_a_whole) {
  commit_workflow("fails", chain("fails", {{"a", "echo 1 > one.txt"}, {"b", "echo no such thing >&2; exit 3"}}));
  const Outcome failed = reeve({"flow", "run", "fails"});
  EXPECT_EQ(failed.code, 1);
  // The reason begins with the tool's own error.
  EXPECT_THAT(failed.err, HasSubstr("EX-1 failed: no such thing; TR-2 failed"));
  const Outcome refused = reeve({"flow", "apply", "EX-1"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("execution.not_completed"));
  EXPECT_THAT(reeve({"flow", "diff", "EX-1"}).out, HasSubstr("+++ b/one.txt\n"));
  EXPECT_EQ(reeve({"flow", "diff", "EX-9"}).code, 3);
}

TEST_F(FlowApply, execution_without_changes_has_an_empty_diff) {
  commit_workflow("idle", chain("idle", {{"a", "true"}}));
  EXPECT_EQ(reeve({"flow", "run", "idle"}).code, 0);
  const Outcome diff = reeve({"flow", "diff", "EX-1"});
  EXPECT_EQ(diff.code, 0) << diff.err;
  EXPECT_EQ(diff.out, "");
}

}  // namespace
}  // namespace reeve
