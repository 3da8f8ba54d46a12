#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Stall detection: silent and idle is detected, silent and busy is not.
namespace reeve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class RunStall : public testing::DaemonTest {};

// RUN-5, RUN-2: marked, not ended; running again as soon as it prints.
TEST_F(RunStall, a_silent_idle_tool_is_stalled_until_it_speaks_again) {
  const std::string zoo = testing::zoo_binary();
  const Outcome started = reeve({"run", "--detach", "--no-output-timeout", "1s", "--", "sh", "-c",
                                 zoo + " wait-file one; " + zoo + " wait-file two"});
  ASSERT_EQ(started.code, 0) << started.err;
  Members stalled = wait_for_status("TR-1", "stalled");
  EXPECT_THAT(stalled["reason"], HasSubstr("no output or heartbeat, no CPU or I/O for 1s"));
  EXPECT_EQ(stalled["completed_at"], "null");
  scratch().write("project/one", "");
  wait_for_status("TR-1", "running");
  // Stall detection restarts.
  wait_for_status("TR-1", "stalled");
  scratch().write("project/two", "");
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  const auto statuses = statuses_of("TR-1");
  ASSERT_GE(statuses.size(), 5U);
  EXPECT_THAT(std::vector(statuses.begin(), statuses.begin() + 5),
              ElementsAre("queued", "running", "stalled", "running", "stalled"));
  // There was one warning before each, at half the time.
  int warnings = 0;
  for (Members& line : combined_log()) warnings += line["reason"].contains("half of its limit") ? 1 : 0;
  EXPECT_EQ(warnings, 2);
}

// RUN-5
TEST_F(RunStall, on_stall_kill_ends_the_run) {
  const Outcome outcome = run({"--no-output-timeout", "1s", "--on-stall", "kill"}, {"silent", "1000"});
  EXPECT_EQ(outcome.code, 124);
  EXPECT_THAT(outcome.err, HasSubstr("no output or heartbeat for 1 s"));
  Members record = show("TR-1");
  EXPECT_EQ(record["status"], "failed_timeout");
  EXPECT_EQ(record["reason"], "no output or heartbeat for 1 s");
  EXPECT_TRUE(tools().empty());
}

// RUN-5
TEST_F(RunStall, heartbeats_prevent_a_stall) {
  const Outcome outcome =
      run({"--no-output-timeout", "2s", "--on-stall", "kill", "--liveness", "output"}, {"heartbeats", "8", "500"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(show("TR-1")["last_heartbeat_at"], "null");
  EXPECT_THAT(statuses_of("TR-1"), ElementsAre("queued", "running", "completed"));
}

// RUN-5: a silent build that is busy is never killed for being silent.
TEST_F(RunStall, silent_busy_tool_is_not_stalled) {
  const Outcome outcome = run({"--no-output-timeout", "1s", "--on-stall", "kill"}, {"busy", "4"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(statuses_of("TR-1"), Not(Contains("stalled")));
}

// RUN-5: unless only output counts.
TEST_F(RunStall, output_liveness_ignores_activity) {
  const Outcome outcome =
      run({"--no-output-timeout", "1s", "--on-stall", "kill", "--liveness", "output"}, {"busy", "1000"});
  EXPECT_EQ(outcome.code, 124) << outcome.err;
}

// RUN-3, RUN-5
TEST_F(RunStall, limits_can_be_turned_off) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() +
            "], no_output_timeout: 300ms, timeout: 300ms, on_stall: kill}\n");
  EXPECT_EQ(run({"--tool", "zoo", "--no-output-timeout", "off", "--timeout", "off"}, {"silent", "2"}).code, 0);
  EXPECT_EQ(run({"--tool", "zoo", "--no-output-timeout", "off", "--timeout", "never"}, {"silent", "1"}).code, 0);
}

}  // namespace
}  // namespace reeve
