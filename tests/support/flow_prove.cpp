#include <csignal>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/support/flow_proof.h"

namespace reeve::testing {

// What was done, for the output and to check that it was enough.
struct FlowProofTest::Tale {
  std::atomic<int> started = 0;
  std::atomic<int> kills = 0;
  std::atomic<bool> is_over = false;
  int with_work = 0;
  int keepers = 0;
  int pauses = 0;
  int restarts = 0;
};

// At least that many in all, and some running until the last kill.
void FlowProofTest::keep_starting(const Disturbance& disturbance, Tale& tale) const {
  constexpr std::size_t at_work = 8;
  std::mt19937 random(disturbance.size.seed + 2);
  std::vector<std::string> names;
  for (const auto& [name, _] : shapes()) names.push_back(name);
  while (!tale.is_over || tale.started < disturbance.size.executions) {
    const Site& at = disturbance.sites[random() % disturbance.sites.size()];
    const bool is_wanted = tale.started < disturbance.size.executions && tale.started <= 2 * tale.kills + 4;
    if (is_wanted || tale.is_over || list_unfinished(at).size() < at_work) {
      const int number = tale.started++;
      start_flow(at, names[static_cast<std::size_t>(number) % names.size()], fmt::format("proof-{}", number));
    }
    ::usleep(20'000);
  }
}

void FlowProofTest::disturb(const Disturbance& disturbance, Tale& tale) const {
  std::mt19937 random(disturbance.size.seed);
  const ProofSize& size = disturbance.size;
  while (tale.kills < size.kills) {
    ::usleep(static_cast<useconds_t>(random() % 200'000));
    if (tale.restarts * size.kills < tale.kills * size.restarts) {
      disturbance.restart_database();
      ++tale.restarts;
      continue;
    }
    const Site& at = disturbance.sites[random() % disturbance.sites.size()];
    const bool is_work = is_step_alive();
    if (random() % 5 == 0) tale.keepers += kill_a_keeper(random) ? 1 : 0;
    const pid_t pid = daemon_pid(at);
    if (disturbance.pause.count() > 0 && random() % 12 == 0 && ::kill(pid, SIGSTOP) == 0) {
      ::usleep(static_cast<useconds_t>(disturbance.pause.count() * 1'000));
      ::kill(pid, SIGCONT);
      ++tale.pauses;
      continue;
    }
    if (::kill(pid, SIGKILL) == 0) {
      ++tale.kills;
      tale.with_work += is_work ? 1 : 0;
    }
    revive(at, random);
  }
  for (const Site& at : disturbance.sites) revive(at, random);
  tale.is_over = true;
}

void FlowProofTest::prove(const Disturbance& disturbance) const {
  const ProofSize& size = disturbance.size;
  const Site& first = disturbance.sites.front();
  for (const Site& at : disturbance.sites) ASSERT_EQ(reeve_at(at, {"flow", "list"}).code, 0);
  Tale tale;
  People people;
  std::jthread crowd([&] { act(people, disturbance.sites, size.seed + 1); });
  std::jthread starter([&] { keep_starting(disturbance, tale); });
  disturb(disturbance, tale);
  starter.join();
  wait_until_over(first);
  people.must_end = true;
  crowd.join();
  expect_proved(first);
  std::cout << fmt::format(
      "seed {}: {} executions, {} steps; {} kills ({} while steps were at work), {} keepers killed, {} pauses, {} "
      "restarts of the database; {} answers ({} about interruptions), {} cancelled, {} tried again\n",
      size.seed, tale.started.load(), ledger().size() / 2, tale.kills.load(), tale.with_work, tale.keepers, tale.pauses,
      tale.restarts, people.answered.load(), people.interruptions.load(), people.cancelled.load(),
      people.retried.load());
  // The proof is worthless unless something was running.
  EXPECT_GE(tale.started, size.executions);
  EXPECT_GE(tale.with_work, size.kills / 4);
  EXPECT_GE(tale.restarts, size.restarts - 1);
  EXPECT_GT(people.answered, 0);
  EXPECT_GT(people.cancelled, 0);
  EXPECT_GT(people.retried, 0);
  EXPECT_GT(people.interruptions, 0);
}

}  // namespace reeve::testing
