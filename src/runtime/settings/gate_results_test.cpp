#include "runtime/settings/gate_results.h"

#include <gmock/gmock.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

model::Run run(const std::string& gate, const char* judged, const std::string& tree, int exit_code) {
  model::Run made;
  made.status = exit_code == 0 ? model::RunStatus::completed : model::RunStatus::failed;
  made.exit_code = exit_code;
  made.metadata = {{gate_key, gate}, {judged_key, judged}};
  if (!tree.empty()) made.metadata.emplace(tree_key, tree);
  return made;
}

model::Run of_apply(model::Run made, const std::string& apply) {
  made.metadata.emplace(apply_key, apply);
  return made;
}

// ISO-3
TEST(GateResults, passed_gate_is_repeated_only_on_another_tree) {
  const std::vector<model::Run> runs = {run("test", judged_task, "t1", 0), run("lint", judged_branch, "t1", 0)};
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t1"), IsEmpty());
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), ElementsAre("test", "lint"));
}

TEST(GateResults, last_result_wins) {
  std::vector<model::Run> runs = {run("test", judged_branch, "t1", 0), run("test", judged_branch, "t2", 1)};
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t3"), IsEmpty()) << "the workflow has handled the failure";
  runs.push_back(run("test", judged_branch, "t2", 0));
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t3"), ElementsAre("test"));
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), IsEmpty());
}

TEST(GateResults, rejected_change_does_not_count_against_the_branch) {
  const std::vector<model::Run> runs = {run("test", judged_task, "t1", 0), run("test", judged_task, "t2", 1)};
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t3"), ElementsAre("test"));
}

TEST(GateResults, merge_result_counts_only_for_its_tree) {
  std::vector<model::Run> runs = {run("test", judged_branch, "t1", 0), run("test", judged_merge, "t2", 1)};
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), ElementsAre("test")) << "run again on the next attempt";
  runs.push_back(run("test", judged_merge, "t2", 0));
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), IsEmpty());
  runs.push_back(run("test", judged_merge, "t2", 1));
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), ElementsAre("test")) << "the latest result for a tree counts";
}

TEST(GateResults, treeless_and_warning_gates_are_not_repeated) {
  model::Gate mild;
  mild.severity = model::GateSeverity::warning;
  const std::vector<model::Run> runs = {run("deploy", judged_branch, "", 0), run("mild", judged_branch, "t1", 0)};
  EXPECT_THAT(find_gates_to_ask(runs, {{"mild", mild}}, "t2"), IsEmpty());
}

TEST(GateResults, running_gate_has_no_result) {
  model::Run running = run("test", judged_merge, "t2", 0);
  running.status = model::RunStatus::running;
  const std::vector<model::Run> runs = {run("test", judged_branch, "t1", 0), of_apply(running, "EX-1")};
  EXPECT_THAT(find_gates_to_ask(runs, {}, "t2"), ElementsAre("test"));
  EXPECT_EQ(find_refusal(runs, "EX-1"), std::nullopt);
}

TEST(GateResults, refusal_lasts_until_the_retry) {
  std::vector<model::Run> runs = {of_apply(run("test", judged_merge, "t1", 3), "EX-1")};
  EXPECT_EQ(find_refusal(runs, "EX-1"), "gate `test` did not pass (exit code 3)");
  EXPECT_EQ(find_refusal(runs, "PA-1"), std::nullopt);
  runs.push_back(of_apply(run("test", judged_merge, "t1", 0), "EX-1"));
  EXPECT_EQ(find_refusal(runs, "EX-1"), std::nullopt);
}

}  // namespace
}  // namespace reeve::runtime
