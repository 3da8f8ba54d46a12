#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// RUN-14, GRF-14: which nodes get free slots, with the built daemon.
namespace reeve {
namespace {

using testing::eventually;

class FlowRoom : public testing::ScriptedFlowTest {
 protected:
  // One task runs until the gate opens, another waits for it: the execution uses all the slots it may have.
  static std::string saturated(const Gate& gate) {
    return workflow(node("split", "parallel, parallel_config: {branches: [a, b], wait_for: all}") +
                        shell("a", "echo begun >>$EFFECTS; read x <" + gate.path()) + shell("b", "exit 0") +
                        node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
                    edges("split>a, split>b, a>end, b>end"), "{max_parallel_nodes: 1, isolation: none}");
  }
};

// A ready node is found even behind more executions than one query returns, none of which can use a slot.
TEST_F(FlowRoom, execution_behind_many_saturated_ones_is_not_starved) {
  constexpr int many = 66;
  settle({.more = fmt::format("supervision: {{max_parallel_runs: {}}}", many)});
  const Gate first(scratch().path() / "first");
  const Gate gate(scratch().path() / "gate");
  std::vector<std::string> started = {start_flow(saturated(first))};
  for (int i = 1; i < many; ++i) started.push_back(start_flow(saturated(gate)));
  ASSERT_TRUE(eventually([&] { return effect_count("begun") == many; }));
  // All slots are taken, so it has to wait.
  const std::string last = start_flow(workflow(shell("only", mark("last")), "", "{isolation: none}"));
  EXPECT_EQ(status_of(execution(last), "only"), "ready");
  first.open();
  EXPECT_EQ(end_of(last).at("status"), "completed") << "one place is free, and nobody else can use it";
  for (const std::string& id : started) reeve({"flow", "cancel", id});
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// ISO-1: its worktree is being set up; nothing of it runs yet.
TEST_F(FlowRoom, waiting_for_a_setup_uses_no_slot) {
  const Gate gate(scratch().path() / "gate");
  settle({.more = "supervision: {max_parallel_runs: 1}\nworktree: {setup: [[sh, -c, 'read x <" + gate.path() + "']]}"});
  make_repository();
  const std::string slow = start_flow(workflow(shell("a", mark("slow")), ""));
  wait_for_node(slow, "a", "running");
  const std::string other = start_flow(workflow(shell("a", mark("other")), "", "{isolation: none}"));
  EXPECT_EQ(wait_for_execution(other, "completed").at("status"), "completed");
  EXPECT_EQ(effect_count("slow"), 0);
  gate.open();
  EXPECT_EQ(end_of(slow).at("status"), "completed");
  EXPECT_EQ(effect_count("slow"), 1);
}

// Its worktree is ready, and another node has the only slot.
TEST_F(FlowRoom, prepared_task_waits_for_a_free_slot) {
  const Gate setup(scratch().path() / "setup");
  settle({.more = "supervision: {max_parallel_runs: 1}\nworktree: {setup: [[sh, -c, 'echo set >>" +
                  effects_file().string() + "; read x <" + setup.path() + "; echo up >>" + effects_file().string() +
                  "']]}"});
  make_repository();
  const Gate gate(scratch().path() / "gate");
  const std::string slow = start_flow(workflow(shell("a", mark("slow")), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("set") == 1; }));
  const std::string other =
      start_flow(workflow(shell("a", "echo + >>$EFFECTS; read x <" + gate.path()), "", "{isolation: none}"));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 1; }));
  setup.open();
  ASSERT_TRUE(eventually([&] { return effect_count("up") == 1; }));
  // A user's own run starts and ends meanwhile, which gives the task enough time.
  EXPECT_EQ(reeve({"run", "--", "/bin/sleep", "1"}).code, 0);
  EXPECT_EQ(effect_count("slow"), 0) << "more runs than allowed";
  gate.open();
  EXPECT_EQ(end_of(other).at("status"), "completed");
  EXPECT_EQ(end_of(slow).at("status"), "completed");
  EXPECT_EQ(effect_count("slow"), 1);
}

// ISO-1: tasks in one worktree take turns; a task that waits for its turn leaves its slot to others, and needs a slot
// again afterwards.
TEST_F(FlowRoom, waiting_for_a_shared_worktree_uses_no_slot) {
  settle({.more = "supervision: {max_parallel_runs: 2}"});
  make_repository();
  const Gate gate(scratch().path() / "gate");
  const std::string held = "echo + >>$EFFECTS; read x <" + gate.path() + "; echo - >>$EFFECTS";
  const std::string id =
      start_flow(workflow(node("split", "parallel, parallel_config: {branches: [a, b], wait_for: all}") +
                              shell("a", held, "worktree_id: one") + shell("b", held, "worktree_id: one") +
                              node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
                          edges("split>a, split>b, a>end, b>end")));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 1; }));
  wait_for_node(id, "a", "running");
  wait_for_node(id, "b", "running");
  const std::string other = start_flow(workflow(shell("a", mark("other")), "", "{isolation: none}"));
  EXPECT_EQ(wait_for_execution(other, "completed").at("status"), "completed");
  EXPECT_EQ(effect_count("+"), 1);
  gate.open();
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 2; }));
  gate.open();
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(max_at_once(), 1);
}

}  // namespace
}  // namespace reeve
