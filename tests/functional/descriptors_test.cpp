#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// A daemon with few descriptors refuses new runs and stays alive; running tools continue (RUN-13).
namespace reeve {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Words;

class FewDescriptors : public testing::DaemonTest {
 protected:
  // With a hard limit of 64, inherited by the daemon that it starts.
  Outcome limited(const Words& words) const {
    testing::Launch made = launch(words);
    made.argv.insert(made.argv.begin(), {"/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"});
    return testing::run_program(made);
  }
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  std::string go_file() const { return (scratch().path() / "go").string(); }
  Words waiting_run() const { return run_words({"--detach"}, {"wait-file", go_file()}); }
  static std::string id_of(const Outcome& started) { return started.out.substr(0, started.out.find('\n')); }
};

TEST_F(FewDescriptors, excess_runs_are_refused_and_others_survive_a_crash) {
  std::set<std::string> started;
  int refused = 0;
  const Outcome first = limited(waiting_run());
  ASSERT_EQ(first.code, 0) << first.err;
  started.insert(id_of(first));
  const pid_t daemon = daemon_pid();
  for (int i = 1; i < 20; ++i) {
    const Outcome outcome = reeve(waiting_run());
    if (outcome.code == 0) {
      started.insert(id_of(outcome));
      continue;
    }
    ++refused;
    EXPECT_THAT(outcome.err, HasSubstr("run.no_descriptors"));
    EXPECT_THAT(outcome.err, HasSubstr("the limit of 64 open files"));
    EXPECT_THAT(outcome.err, HasSubstr("ulimit -Hn"));
  }
  EXPECT_GE(started.size(), 3U);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(daemon_pid(), daemon);
  for (const std::string& id : started) EXPECT_EQ(show(id)["status"], "running");
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return daemon_pid() != daemon && reeve({"runs"}).code == 0; }));
  const pid_t second = daemon_pid();
  EXPECT_EQ(tools().size(), started.size());
  std::ofstream(go_file()) << "x";
  for (const std::string& id : started) {
    const auto ended = finish(id);
    EXPECT_EQ(ended.at("status"), "completed") << id;
    EXPECT_EQ(ended.at("attempt"), "1") << id;
  }
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(daemon_pid(), second);
}

// More runs are alive than the next daemon has descriptors for: their keepers hold the rest.
TEST_F(FewDescriptors, runs_that_do_not_fit_are_adopted_when_others_end) {
  constexpr int count = 20;
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    // Half of them end before the others.
    ids.push_back(detach({}, {"wait-file", i % 2 == 0 ? go_file() : go_file() + "2"}));
  }
  ASSERT_EQ(reeve({"stop"}).code, 0);
  ASSERT_EQ(tools().size(), static_cast<std::size_t>(count));
  ASSERT_EQ(limited({"runs"}).code, 0);
  const pid_t daemon = daemon_pid();
  for (const std::string& id : ids) EXPECT_EQ(show(id)["status"], "running") << id;
  const Outcome refused = reeve(waiting_run());
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("run.no_descriptors"));
  EXPECT_EQ(tools().size(), static_cast<std::size_t>(count));
  std::ofstream(go_file()) << "x";
  std::ofstream(go_file() + "2") << "x";
  for (const std::string& id : ids) {
    auto ended = finish(id);
    EXPECT_EQ(ended["status"], "completed") << id;
    EXPECT_EQ(ended["attempt"], "1") << id;
    EXPECT_EQ(testing::count_of(logs(id), "go"), 1) << id;
  }
  EXPECT_EQ(daemon_pid(), daemon);
}

}  // namespace
}  // namespace reeve
