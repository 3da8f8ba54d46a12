#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// What people see of a live run and change about it while it runs.
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class RunControl : public testing::DaemonTest {
 protected:
  // The value of a line of `reeve show`, as a number; -1 without such a line.
  std::int64_t shown_number(const std::string& id, const std::string& key) const {
    const Outcome shown = reeve({"show", id});
    for (const std::string& line : testing::lines_of(shown.out)) {
      if (line.starts_with(key + "\t")) return std::stoll(line.substr(key.size() + 1));
    }
    return -1;
  }
};

// UX, RUN-3, RUN-5: the three clocks, the limits, and what the process tree uses.
TEST_F(RunControl, show_has_the_clocks_limits_and_resources_of_a_live_run) {
  const std::string id =
      detach({"--timeout", "2h", "--no-output-timeout", "7m", "--on-stall", "kill"}, {"busy", "600"});
  ASSERT_TRUE(eventually([&] { return shown_number(id, "cpu_ms") > 200; }));
  const Outcome shown = reeve({"show", id});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("last_output_at\tnever\n"), HasSubstr("last_heartbeat_at\tnever\n"),
                               HasSubstr("last_activity_at\t20"), HasSubstr("timeout\t2h\n"),
                               HasSubstr("no_output_timeout\t7m\n"), HasSubstr("on_stall\tkill\n")));
  EXPECT_GT(shown_number(id, "memory_bytes"), 0);
  EXPECT_EQ(shown_number(id, "processes"), 1);
  const std::int64_t left = shown_number(id, "time_left_ms");
  EXPECT_GT(left, 7'000'000);
  EXPECT_LT(left, 7'200'000);
  const auto pid = static_cast<pid_t>(shown_number(id, "pid"));
  ASSERT_EQ(tools().size(), 1U);
  EXPECT_EQ(pid, tools().front().pid);
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
  EXPECT_THAT(reeve({"show", id}).out, AllOf(Not(HasSubstr("pid\t")), Not(HasSubstr("memory"))));
}

}  // namespace
}  // namespace reeve
