#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// A step that was interrupted midway (RUN-13, ISO-1, ISO-4), with the built program.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Words;

class FlowLost : public testing::FlowTest {
 protected:
  FlowLost() {
    git({"init", "-q", "-b", "main"});
    scratch().write("project/.gitignore", ".reeve/state\n.worktrees\nlost\n");
  }
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
  // The first time it leaves a file behind and kills its keeper; the second time it reports what it found.
  static std::string half() {
    return "test -e half && echo 1 > found; echo 1 > half; test -e ../../lost && exit 0; echo > ../../lost; "
           "kill -9 $PPID; sleep 60";
  }
  bool has(const std::string& file) const { return std::filesystem::exists(project() / file); }
  void expect_begun_anew(const std::string& id) const {
    EXPECT_TRUE(has("half"));
    EXPECT_FALSE(has("found")) << "it was run again on its own half";
    const std::string patches = reeve({"patch", "list", id}).out;
    EXPECT_THAT(patches, AllOf(HasSubstr("PA-1\tquarantined\t" + id + "\ta (interrupted)"),
                               HasSubstr("PA-2\tcommitted\t" + id + "\ta\t")));
    EXPECT_THAT(reeve({"flow", "show", id, "--json", "--history"}).out, HasSubstr(R"("attempt":2)"));
  }
};

TEST_F(FlowLost, rerun_step_starts_from_its_original_state) {
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"], on_interrupted: rerun}\n");
  commit_workflow("lost", chain("lost", {{"a", half()}}));
  EXPECT_EQ(reeve({"flow", "run", "lost"}).code, 0);
  expect_begun_anew("EX-1");
}

TEST_F(FlowLost, step_rerun_by_approval_starts_from_its_original_state) {
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"], on_interrupted: ask}\n");
  commit_workflow("lost", chain("lost", {{"a", half()}}));
  ASSERT_EQ(reeve({"flow", "run", "lost", "--no-wait"}).code, 90);
  EXPECT_THAT(reeve({"approvals"}).out, HasSubstr("was interrupted"));
  EXPECT_THAT(reeve({"patch", "show", "PA-1"}).out, AllOf(HasSubstr("quarantined"), HasSubstr("half")))
      << "whoever is asked can see what there was";
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 0);
  expect_begun_anew("EX-1");
}

TEST_F(FlowLost, rerun_gate_sees_no_traces_of_its_first_run) {
  scratch().write("gate.sh", fmt::format("test -e dirt && exit 1; echo > dirt; test -e '{0}' && exit 0; echo > '{0}'; "
                                         "kill -9 $PPID; sleep 60\n",
                                         (scratch().path() / "lost").string()));
  configure(
      fmt::format("tools:\n  sh: {{command: [sh, -c, \"{{prompt}}\"]}}\ngates:\n  clean: {{command: [sh, '{}']}}\n",
                  (scratch().path() / "gate.sh").string()));
  commit_workflow("gated", R"(id: gated
name: gated
entry_point: make
nodes:
  - {id: make, type: task, task_config: {role: coder, task_template: "echo 1 > a", gates: [clean]}}
edges: []
)");
  const Outcome done = reeve({"flow", "run", "gated"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_TRUE(has("a"));
}

}  // namespace
}  // namespace reeve
