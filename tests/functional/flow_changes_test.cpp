#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// What users see of the changes of a workflow in a real repository (ISO-3, ISO-4, UX).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class FlowChanges : public testing::FlowTest {
 protected:
  FlowChanges() {
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
  // Commits a workflow file to the repository.
  void commit_workflow(const std::string& name, const std::string& yaml) const {
    write_workflow(name, yaml);
    git({"add", "-A"});
    git({"commit", "-qm", name});
  }
  static std::string with_apply(const std::string& yaml, const std::string& when) {
    return yaml + "config: {apply: " + when + "}\n";
  }
};

TEST_F(FlowChanges, apply_question_is_the_next_step) {
  commit_workflow("asks", with_apply(chain("asks", {{"a", "echo 1 > one.txt"}}), "on_approval"));
  const Outcome done = reeve({"flow", "run", "asks"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("EX-1 completed"), HasSubstr("AP-1 asks: Apply the changes of EX-1"),
                              HasSubstr("next: reeve show AP-1"), Not(HasSubstr("git merge"))));
  EXPECT_EQ(reeve({"flow", "run", "asks", "--no-wait"}).code, 90);
  EXPECT_EQ(reeve({"flow", "run", "asks", "--no-wait", "--json"}).code, 90);
}

TEST_F(FlowChanges, dropping_all_patches_withdraws_the_question) {
  commit_workflow("asks",
                  with_apply(chain("asks", {{"a", "echo 1 > one.txt"}, {"b", "echo 2 > two.txt"}}), "on_approval"));
  EXPECT_EQ(reeve({"flow", "run", "asks"}).code, 0);
  EXPECT_EQ(reeve({"patch", "drop", "PA-1"}).code, 0);
  EXPECT_THAT(reeve({"approvals"}).out, HasSubstr("AP-1\tpending")) << "PA-2 is left";
  EXPECT_EQ(reeve({"patch", "drop", "PA-2"}).code, 0);
  EXPECT_EQ(reeve({"approvals"}).out, "");
  const Outcome again = reeve({"patch", "drop", "PA-2"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.err, "PA-2 was already dropped. Nothing changed.\n");
  EXPECT_THAT(reeve({"patch", "apply", "PA-2"}).err,
              AllOf(HasSubstr("reeve patch show PA-2 --diff | git apply -3"), Not(HasSubstr("cherry-pick"))));
}

TEST_F(FlowChanges, unapplied_changes_come_with_instructions) {
  const std::string two = chain("two", {{"a", "echo 1 > one.txt"}, {"b", "echo 2 > two.txt"}});
  commit_workflow("two", with_apply(two, "manual"));
  const Outcome manual = reeve({"flow", "run", "two"});
  EXPECT_THAT(manual.err,
              HasSubstr("PA-1 of a is validated\nPA-2 of b is validated\ncompleted, not in your checkout; it is on "
                        "branch reeve/EX-1: reeve flow apply EX-1 (reeve flow diff EX-1 shows it), or git merge "
                        "reeve/EX-1\n"));
  commit_workflow("dirty", chain("dirty", {{"a", "echo 3 > three.txt"}}));
  write("file.txt", "mine\n");
  const Outcome dirty = reeve({"flow", "run", "dirty"});
  EXPECT_THAT(dirty.err,
              HasSubstr("it is on branch reeve/EX-2: commit or stash, then reeve flow apply EX-2 (reeve flow "
                        "diff EX-2 shows it), or git merge reeve/EX-2\n"));
  EXPECT_THAT(reeve({}).out, AllOf(HasSubstr("PA-3\tapply_failed\tEX-2/a\t"), Not(HasSubstr("PA-1"))));
  EXPECT_THAT(reeve({"flow", "show", "EX-2"}).out, HasSubstr("patch\tPA-3\tapply_failed\ta\t1 file +1 -0\n"));
  EXPECT_THAT(reeve({"flow", "show", "EX-1", "--json", "--history"}).out,
              AllOf(HasSubstr("\"patches\":[{\"patch_id\":\"PA-1\""), Not(HasSubstr("\"diff\""))));
  write("file.txt", "first\n");
  EXPECT_EQ(reeve({"patch", "apply", "PA-3"}).err, "");
  EXPECT_EQ(reeve({"patch", "apply", "PA-3"}).err, "PA-3 was already committed. Nothing changed.\n");
  EXPECT_EQ(reeve({"patch", "rollback", "PA-3"}).code, 0);
  EXPECT_THAT(reeve({"patch", "drop", "PA-3"}).err, HasSubstr("it has already been rolled back"));
}

// GRF-12: the question shows the work that it is about.
TEST_F(FlowChanges, are_shown_with_the_question_of_a_human_node) {
  commit_workflow("looks", chain("looks", {{"a", "echo 1 > one.txt"}, {"ok", "human Fine?"}}));
  EXPECT_EQ(reeve({"flow", "run", "looks", "--no-wait"}).code, 90);
  EXPECT_THAT(reeve({"show", "AP-1"}).out, HasSubstr("patch\tPA-1 validated a 1 file +1 -0\n"));
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_THAT(reeve({"show", "AP-1"}).out, AllOf(Not(HasSubstr("\nuse\t")), Not(HasSubstr("\npatch\t"))));
}

// ISO-3: a rejection that the workflow handles still keeps the change out of the checkout.
TEST_F(FlowChanges, rejected_by_a_gate_are_not_applied) {
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\ngates:\n  strict: {command: [test, -f, two.txt]}\n");
  commit_workflow("refused", R"(id: refused
name: refused
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: coder, task_template: "echo 1 > one.txt"}}
  - {id: judge, type: gate, gate_config: {gate_type: strict}}
  - {id: which, type: branch, branch_config: {condition: {field: passed, operator: "==", value: true}, on_true: yes, on_false: not}}
  - {id: "yes", type: task, task_config: {role: noop}}
  - {id: "not", type: task, task_config: {role: noop}}
edges:
  - {id: e1, source: a, target: judge}
  - {id: e2, source: judge, target: which}
  - {id: e3, source: which, target: "yes"}
  - {id: e4, source: which, target: "not"}
)");
  const Outcome done = reeve({"flow", "run", "refused"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr("PA-1 of a is validated"), HasSubstr("git merge reeve/EX-1")));
  EXPECT_FALSE(std::filesystem::exists(project() / "one.txt"));
}

// ISO-1: the next user of the folder must not find a running process in it.
TEST_F(FlowChanges, of_a_cancelled_task_are_collected_after_it_exits) {
  commit_workflow("stubborn", chain("stubborn", {{"a",
                                                  "trap : TERM; echo 1 > one.txt; echo > ../../begun; "
                                                  "while [ ! -e ../../go ]; do sleep 0.01; done; "
                                                  "echo 2 > two.txt; echo > ../../done; while :; do sleep 1; done"}}));
  const std::string id = begin("stubborn");
  ASSERT_TRUE(testing::eventually([&] { return std::filesystem::exists(project() / "begun"); }));
  ASSERT_EQ(reeve({"flow", "cancel", id}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(project() / ".worktrees" / id)) << "it still works there";
  release("go");
  ASSERT_TRUE(testing::eventually([&] { return std::filesystem::exists(project() / "done"); }));
  EXPECT_EQ(wait_for(id), 130);
  EXPECT_THAT(reeve({"patch", "list", id}).out, HasSubstr("PA-1\tquarantined"));
  EXPECT_THAT(reeve({"patch", "show", "PA-1"}).out, AllOf(HasSubstr("one.txt"), HasSubstr("two.txt")));
}

// ISO-5.
TEST_F(FlowChanges, missing_file_to_copy_fails_the_node) {
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\nworktree: {copy: [.env.local]}\n");
  commit_workflow("copies", chain("copies", {{"a", "cat .env.local > one.txt"}}));
  const Outcome failed = reeve({"flow", "run", "copies"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out + failed.err, HasSubstr("there is no such file in the project"));
  write(".gitignore", ".reeve/state\n.worktrees\n.env.local\n");
  git({"commit", "-qam", "ignore"});
  write(".env.local", "x\n");
  EXPECT_EQ(reeve({"flow", "run", "copies"}).code, 0);
}

// ISO-2: changed copies are never part of a patch, and are listed, however many other files changed.
TEST_F(FlowChanges, changed_copied_file_is_listed_as_left_out) {
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\nworktree: {copy: [.env.local]}\n");
  commit_workflow("copies", chain("copies", {{"a", "seq 200; echo y >> .env.local; echo 1 > one.txt"}}));
  write(".env.local", "x\n");
  EXPECT_EQ(reeve({"flow", "run", "copies"}).code, 0);
  EXPECT_THAT(reeve({"flow", "show", "EX-1"}).out, HasSubstr(R"("left_out":[".env.local"])"));
  const auto shown = start({"flow", "show", "EX-1"}, testing::Session::Ends::terminal, {{"NO_COLOR", "1"}});
  EXPECT_EQ(shown->wait(), 0);
  EXPECT_THAT(shown->out(), HasSubstr("left   .env.local (copied in beforehand, not part of the patch)"));
}

TEST_F(FlowChanges, patches_of_an_unknown_execution_are_an_error) {
  const Outcome none = reeve({"patch", "list", "EX-99"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("execution.not_found"));
}

}  // namespace
}  // namespace reeve
