#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/flow.h"

// GRF-7: no run outlives its execution, even when it could not be ended at the moment of the cancel.
namespace reeve {
namespace {

using testing::eventually;
using testing::Outcome;

class FlowOrphan : public testing::FlowTest {
 protected:
  FlowOrphan() {
    configure(R"(tools:
  sh: {command: [sh, -c, "{prompt}"]}
supervision: {poll_interval: 200ms}
)");
    write_workflow("one", chain("one", {{"only", "echo at work; " + held_until("never")}}));
  }
  void cancel(const std::string& execution) const {
    const Outcome cancelled = reeve({"flow", "cancel", execution});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  }
  void expect_cancelled(const std::string& run) const {
    wait_for_status(run, "cancelled");
    EXPECT_TRUE(eventually([&] { return tools().empty(); })) << "its process lives";
  }
};

TEST_F(FlowOrphan, a_run_whose_end_could_not_be_stored_is_ended_later) {
  const std::string execution = begin("one");
  wait_for_output("TR-1", "at work");
  sql("CREATE TRIGGER trouble BEFORE UPDATE OF ending ON run_attempts "
      "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END");
  cancel(execution);
  EXPECT_EQ(show("TR-1").at("status"), "running");
  sql("DROP TRIGGER trouble");
  expect_cancelled("TR-1");
}

// RUN-13: the keeper was told to start it and is paused; the next daemon waits for its message.
TEST_F(FlowOrphan, run_cancelled_while_no_daemon_held_it_is_ended) {
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "stop:keeper.before_marker"}});
  daemon->wait_for_error("listening");
  const std::string execution = begin("one");
  const pid_t keeper = wait_for_stopped_keeper();
  daemon->signal(SIGKILL);
  daemon->wait();
  // The next daemon receives this.
  cancel(execution);
  ::kill(keeper, SIGCONT);
  expect_cancelled("TR-1");
}

}  // namespace
}  // namespace reeve
