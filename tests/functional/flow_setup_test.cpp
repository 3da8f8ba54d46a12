#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// ISO-1: worktree setup commands under a daemon that dies.
namespace reeve {
namespace {

using testing::eventually;

class FlowSetup : public testing::ScriptedFlowTest {};

// A half-made worktree is never used, and two setups never run in it at once.
TEST_F(FlowSetup, setup_left_by_a_killed_daemon_is_ended_and_repeated) {
  const Gate gate(scratch().path() / "gate");
  settle({.more = fmt::format("worktree: {{setup: [[sh, -c, 'echo + >>{0}; read x <{1}; echo - >>{0}']]}}",
                              effects_file().string(), gate.path())});
  make_repository();
  const auto count_setups = [&] {
    return std::ranges::count_if(
        processes(), [](const testing::FoundProcess& process) { return process.command.starts_with("sh -c echo +"); });
  };
  auto daemon = start({"serve"});
  daemon->wait_for_error("listening");
  const std::string id = start_flow(workflow(shell("a", mark("worked")), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 1; }));
  daemon->signal(SIGKILL);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 2; })) << "it is not set up again";
  EXPECT_EQ(count_setups(), 1) << "the first one is still at work";
  EXPECT_EQ(effect_count("worked"), 0);
  gate.open();
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("-"), 1);
  EXPECT_EQ(effect_count("worked"), 1);
}

}  // namespace
}  // namespace reeve
