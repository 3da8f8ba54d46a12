#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// RUN-14, GRF-14: who has room and who gets it, through the built daemon.
namespace reeve {
namespace {

using testing::eventually;

class FlowRoom : public testing::ScriptedFlowTest {
 protected:
  // One task runs until the gate opens, one waits for it to end: it has all that it may have at once.
  static std::string saturated(const Gate& gate) {
    return workflow(node("split", "parallel, parallel_config: {branches: [a, b], wait_for: all}") +
                        shell("a", "echo begun >>$EFFECTS; read x <" + gate.path()) + shell("b", "exit 0") +
                        node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
                    edges("split>a, split>b, a>end, b>end"), "{max_parallel_nodes: 1, isolation: none}");
  }
};

// What is ready behind more executions than are looked at in one go, none of which can use room, is found.
TEST_F(FlowRoom, an_execution_behind_many_that_have_all_they_may_have_is_not_starved) {
  constexpr int many = 66;
  settle({.more = fmt::format("supervision: {{max_parallel_runs: {}}}", many)});
  const Gate first(scratch().path() / "first");
  const Gate gate(scratch().path() / "gate");
  std::vector<std::string> started = {start_flow(saturated(first))};
  for (int i = 1; i < many; ++i) started.push_back(start_flow(saturated(gate)));
  ASSERT_TRUE(eventually([&] { return effect_count("begun") == many; }));
  // All room is taken: it has to wait.
  const std::string last = start_flow(workflow(shell("only", mark("last")), "", "{isolation: none}"));
  EXPECT_EQ(status_of(execution(last), "only"), "ready");
  first.open();
  EXPECT_EQ(end_of(last).at("status"), "completed") << "one place is free, and nobody else can use it";
  for (const std::string& id : started) reeve({"flow", "cancel", id});
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// ISO-1: its place to work is being set up; nothing of it runs yet.
TEST_F(FlowRoom, what_waits_for_a_setup_takes_no_room) {
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

// Its worktree is there, and the only place is another's.
TEST_F(FlowRoom, what_has_its_place_waits_for_room) {
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
  // A person's own run comes and goes meanwhile; the task has had its time.
  EXPECT_EQ(reeve({"run", "--", "/bin/sleep", "1"}).code, 0);
  EXPECT_EQ(effect_count("slow"), 0) << "more runs than allowed";
  gate.open();
  EXPECT_EQ(end_of(other).at("status"), "completed");
  EXPECT_EQ(end_of(slow).at("status"), "completed");
  EXPECT_EQ(effect_count("slow"), 1);
}

// ISO-1: two tasks in one worktree take turns; the one that waits for its turn leaves the room to others. What has its
// place waits for room again.
TEST_F(FlowRoom, what_waits_for_a_shared_worktree_takes_no_room) {
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
  EXPECT_EQ(most_at_once(), 1);
}

}  // namespace
}  // namespace reeve
