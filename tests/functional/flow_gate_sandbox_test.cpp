#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// ISO-2: gates run code that agents wrote, in the strictest sandbox of the tasks whose changes they check.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class FlowGateSandbox : public testing::FlowTest {
 protected:
  FlowGateSandbox() {
    git({"init", "-q", "-b", "main"});
    scratch().write("project/.gitignore", ".reeve/state\n.worktrees\nstolen\n");
  }
  std::string git(const Words& words) const {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  // A gate that runs the file written by the task.
  void settle(const std::string& tool, const std::string& gate) const {
    configure(
        fmt::format("tools:\n  sh: {{command: [sh, -c, \"{{prompt}}\"]{}}}\n"
                    "gates:\n  tests: {{command: [sh, test.sh]{}}}\n",
                    tool, gate));
    write_workflow("attack", fmt::format(R"(id: attack
name: attack
entry_point: write
nodes:
  - {{id: write, type: task, task_config: {{role: coder, task_template: "echo 'echo 1 >>{0}/stolen; true' > test.sh"}}}}
  - {{id: judge, type: gate, gate_config: {{gate_type: tests}}}}
  - {{id: ask, type: human, human_config: {{title: "Fine?"}}}}
edges:
  - {{id: e1, source: write, target: judge}}
  - {{id: e2, source: judge, target: ask}}
)",
                                         project().string()));
    git({"add", "-A"});
    git({"commit", "-qm", "attack"});
  }
  // Continues past the human node, to a merge that is gated again.
  void run_through() const {
    ASSERT_EQ(reeve({"flow", "run", "attack", "--no-wait"}).code, 90);
    scratch().write("project/mine", "1\n");
    git({"add", "mine"});
    git({"commit", "-qm", "mine"});
    ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
    ASSERT_EQ(wait_for("EX-1"), 0);
    ASSERT_TRUE(std::filesystem::exists(project() / "test.sh")) << reeve({"flow", "show", "EX-1"}).out;
  }
  bool is_stolen() const { return std::filesystem::exists(project() / "stolen"); }
};

TEST_F(FlowGateSandbox, a_gate_runs_in_the_sandbox_of_the_tasks) {
  settle(", sandbox: guard", "");
  run_through();
  EXPECT_FALSE(is_stolen());
  EXPECT_THAT(reeve({"flow", "validate", "attack"}).err, Not(HasSubstr("gate_unsandboxed")));
}

TEST_F(FlowGateSandbox, a_gate_has_a_sandbox_of_its_own) {
  settle("", ", sandbox: guard");
  run_through();
  EXPECT_FALSE(is_stolen());
}

TEST_F(FlowGateSandbox, gate_without_a_sandbox_gets_a_warning) {
  settle("", "");
  run_through();
  EXPECT_TRUE(is_stolen()) << "or the tests above are about nothing";
  EXPECT_THAT(reeve({"flow", "validate", "attack"}).err,
              AllOf(HasSubstr("warning[flow.gate_unsandboxed]"), HasSubstr("`tests`")));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("without a sandbox: `tests`"));
}

TEST_F(FlowGateSandbox, gate_can_opt_out_of_the_sandbox_with_a_warning) {
  settle(", sandbox: guard", ", sandbox: none");
  run_through();
  EXPECT_TRUE(is_stolen());
  EXPECT_THAT(reeve({"flow", "validate", "attack"}).err, HasSubstr("warning[flow.gate_unsandboxed]"));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("without a sandbox: `tests`"));
}

}  // namespace
}  // namespace reeve
