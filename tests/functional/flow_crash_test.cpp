#include <csignal>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/flow_proof.h"

// GRF-13, RUN-13: workflows whose daemon is killed at any moment. On SQLite, and once more on PostgreSQL
// (tests/CMakeLists.txt).
namespace reeve {
namespace {

using testing::Outcome;

class FlowCrash : public testing::FlowProofTest {
 protected:
  FlowCrash() { write_project(store_line() + "supervision: {poll_interval: 200ms}\n"); }

  // A database of its own on the server that ctest has started.
  static std::string store_line() {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    static int count = 0;
    const std::string database = fmt::format("flow_crash_{}_{}", ::getpid(), ++count);
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(made.code, 0) << made.err;
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database, server);
  }
};

// `./dev soak` does it long.
TEST_F(FlowCrash, executions_of_every_shape_survive_a_daemon_that_is_killed_at_random) {
  prove({.sites = {site("a")}, .size = testing::proof_size({.executions = 28, .kills = 40, .seed = 20'261'115})});
}

}  // namespace
}  // namespace reeve
