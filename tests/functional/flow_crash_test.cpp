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

TEST_F(FlowCrash, executions_of_every_shape_survive_a_daemon_that_is_killed_at_random) {
  const testing::ProofSize size = testing::proof_size({.executions = 26, .kills = 40, .seed = 20'261'115});
  std::mt19937 random(size.seed);
  const Site at = site("a");
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  People people;
  std::jthread crowd([&] { act(people, {at}, size.seed + 1); });
  std::atomic<int> kills = 0;
  std::jthread starter([&] {
    std::vector<std::string> names;
    for (const auto& [name, _] : shapes()) names.push_back(name);
    for (int i = 0; i < size.executions; ++i) {
      // Spread over the kills.
      while (kills * size.executions < i * size.kills * 3 / 4) ::usleep(5'000);
      start_flow(at, names[static_cast<std::size_t>(i) % names.size()], fmt::format("proof-{}", i));
    }
  });
  int with_work = 0;
  int keepers = 0;
  while (kills < size.kills) {
    ::usleep(static_cast<useconds_t>(random() % 200'000));
    with_work += is_step_alive() ? 1 : 0;
    if (random() % 5 == 0) keepers += kill_a_keeper(random) ? 1 : 0;
    if (::kill(daemon_pid(at), SIGKILL) == 0) ++kills;
    revive(at, random);
  }
  starter.join();
  wait_until_over(at, static_cast<std::size_t>(size.executions));
  people.must_end = true;
  crowd.join();
  expect_proved(at);
  std::cout << fmt::format(
      "seed {}: {} executions, {} kills ({} while steps were at work), {} keepers killed, {} steps, "
      "{} answers ({} about interruptions), {} cancelled, {} tried again\n",
      size.seed, size.executions, size.kills, with_work, keepers, ledger().size() / 2, people.answered.load(),
      people.interruptions.load(), people.cancelled.load(), people.retried.load());
  EXPECT_GT(with_work, size.kills / 4);
  EXPECT_GT(people.answered, 0);
  EXPECT_GT(people.cancelled, 0);
  EXPECT_GT(people.retried, 0);
}

}  // namespace
}  // namespace reeve
