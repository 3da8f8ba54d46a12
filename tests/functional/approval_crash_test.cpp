#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"

// APR-7, APR-13: whichever process dies between the question and its effect, an approval takes effect once and a
// rejection never. Runs on SQLite, and again on PostgreSQL (tests/CMakeLists.txt).
namespace reeve {
namespace {

using testing::Members;
using testing::Outcome;
using testing::Words;

class ApprovalCrash : public testing::ApprovalFlowTest {
 protected:
  ApprovalCrash() { configure(store_); }

  // A new database on the server that ctest has started.
  std::string store_line() const {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    const std::string database = fmt::format("approval_crash_{}", ::getpid());
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(made.code, 0) << made.err;
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database, server);
  }
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  std::unique_ptr<testing::Session> serve_until(const std::string& point) const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    daemon->wait_for_error("listening");
    return daemon;
  }
  const std::string store_ = store_line();

  // A client that loses its daemon may report an error; the store has the result.
  void decide(const std::string& id, const std::string& word) const {
    EXPECT_TRUE(testing::eventually([&] {
      const Outcome outcome = reeve(testing::decision(word, id));
      return outcome.code == 0 || outcome.code == 4;
    })) << word
        << " " << id;
  }
};

class ApprovalDaemonCrashPoint : public ApprovalCrash, public ::testing::WithParamInterface<const char*> {};

// The daemon that receives the decision dies at this point; the next one continues.
TEST_P(ApprovalDaemonCrashPoint, approval_takes_effect_once) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until(GetParam());
  decide(id, "approve");
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL) << "it never came to " << GetParam();
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
  EXPECT_EQ(effects().size(), 1U);
  const Members approval = show(id);
  EXPECT_EQ(approval.at("status"), "approved");
  EXPECT_EQ(approval.at("use"), "used");
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

INSTANTIATE_TEST_SUITE_P(Points, ApprovalDaemonCrashPoint,
                         ::testing::Values("approval.after_decide", "approval.after_use", "run.after_assign",
                                           "group.before_commit", "group.after_commit_before_publish",
                                           "run.before_tx_exit", "run.after_tx_exit"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// The same for a rejection.
TEST_F(ApprovalCrash, rejection_has_no_effect_at_any_crash_point) {
  for (const char* point : {"approval.after_decide", "group.before_commit", "group.after_commit_before_publish"}) {
    SCOPED_TRACE(point);
    const std::string run = start_script(asks_then("effect"));
    wait_for_status(run, "waiting_approval");
    const std::string id = question_of(run);
    ASSERT_EQ(reeve({"stop"}).code, 0);
    auto daemon = serve_until(point);
    decide(id, "reject");
    EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
    EXPECT_EQ(finish(run).at("status"), "failed");
    EXPECT_EQ(show(id)["status"], "rejected");
  }
  EXPECT_EQ(effects().size(), 0U);
}

// APR-7: without its marker the keeper of the second attempt started nothing, so the same attempt is tried again with
// the same arguments.
TEST_F(ApprovalCrash, keeper_death_before_the_marker_keeps_the_grant) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until("keeper.before_marker");
  decide(question_of(run), "approve");
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
  EXPECT_EQ(effects().size(), 1U);
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

// APR-7, S3: a restart that cannot begin is retried `supervision.resume_attempts` times, then the run fails.
TEST_F(ApprovalCrash, failing_restart_is_tried_resume_attempts_times) {
  for (const int restarts : {1, 2}) {
    SCOPED_TRACE(restarts);
    configure(store_ + fmt::format("supervision: {{resume_attempts: {}}}\n", restarts));
    const std::string run = start_script(asks_then("effect"));
    wait_for_status(run, "waiting_approval");
    ASSERT_EQ(reeve({"stop"}).code, 0);
    auto daemon = serve_until("each:keeper.before_marker");
    decide(question_of(run), "approve");
    const Members over = finish(run);
    EXPECT_EQ(over.at("status"), "failed");
    EXPECT_EQ(over.at("attempt"), "2");
    EXPECT_EQ(over.at("reason"), fmt::format("it could not be started: its keeper exited before the tool began; "
                                             "also after {} restart{}",
                                             restarts, restarts == 1 ? "" : "s"));
    daemon->signal(SIGTERM);
    EXPECT_EQ(daemon->wait(), 0);
  }
  EXPECT_EQ(effects().size(), 0U);
}

// APR-10: nothing watches the files between the use of the grant and the start, so a change in that gap asks again too.
TEST_F(ApprovalCrash, change_between_grant_use_and_start_asks_again) {
  const std::string file = script("asks.sh", asks_then("effect") + "\n");
  const std::string run = start_command({"sh", file});
  wait_for_status(run, "waiting_approval");
  const std::string first = question_of(run);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until("approval.after_use");
  decide(first, "approve");
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  std::ofstream(file, std::ios::app) << "# edited\n";
  ASSERT_TRUE(testing::eventually([&] { return question_of(run) != first; }));
  EXPECT_EQ(effects().size(), 0U);
  EXPECT_NE(show(question_of(run))["question"].find("asks.sh"), std::string::npos);
  decide(question_of(run), "reject");
  EXPECT_EQ(finish(run).at("status"), "failed");
  EXPECT_EQ(effects().size(), 0U);
}

// RUN-13: once the marker exists the tool may have run, so a person is asked again.
TEST_F(ApprovalCrash, keeper_death_after_the_marker_asks_again) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string first = question_of(run);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until("keeper.after_marker");
  decide(first, "approve");
  ASSERT_TRUE(testing::eventually([&] { return question_of(run) != first; }));
  EXPECT_EQ(show(run)["reason"], "interrupted after it began");
  EXPECT_LE(effects().size(), 1U);
  decide(question_of(run), "reject");
  EXPECT_EQ(finish(run).at("status"), "failed");
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

// APR-13: no daemon was running when the approval was decided or expired.
TEST_F(ApprovalCrash, approval_expired_without_a_daemon_fails_the_run) {
  const std::string run = start_script(asks_then("effect", R"(,"expires_in_seconds":2)"));
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  // No daemon runs until the approval has expired.
  EXPECT_EQ(testing::run_program({.argv = {testing::zoo_binary(), "silent", "3"}}).code, 0);
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 4);
  EXPECT_EQ(finish(run).at("reason"), "approval expired");
  EXPECT_EQ(effects().size(), 0U);
}

// Four people decide many approvals while the daemon is killed at random. REEVE_TEST_APPROVALS sets the number.
TEST_F(ApprovalCrash, each_decision_takes_effect_once_while_the_daemon_is_killed) {
  const char* wanted = std::getenv("REEVE_TEST_APPROVALS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 60;
  constexpr int people = 4;
#ifdef REEVE_SANITIZED
  // A daemon must have a chance to start before it is killed.
  constexpr unsigned max_pause_us = 4'000'000;
#else
  constexpr unsigned max_pause_us = 200'000;
#endif
  std::vector<std::string> runs;
  for (int i = 0; i < count; ++i) runs.push_back(start_script(asks_then("effect")));
  std::vector<std::string> ids;
  for (const std::string& run : runs) {
    wait_for_status(run, "waiting_approval");
    ids.push_back(question_of(run));
  }
  const auto is_yes = [](int i) { return i % 3 != 0; };
  std::atomic<int> next = 0;
  std::atomic<int> busy = people;
  std::vector<std::jthread> threads;
  for (int person = 0; person < people; ++person) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        decide(ids[static_cast<std::size_t>(i)], is_yes(i) ? "approve" : "reject");
      }
      --busy;
    });
  }
  std::mt19937 random(20'261'115);
  int kills = 0;
  while (busy > 0) {
    ::usleep(static_cast<useconds_t>(random() % max_pause_us));
    const pid_t pid = daemon_pid();
    if (pid > 0 && ::kill(pid, SIGKILL) == 0) ++kills;
  }
  threads.clear();
  EXPECT_GT(kills, 0);
  std::map<std::string, int> done;
  for (int i = 0; i < count; ++i) {
    const Members over = finish(runs[static_cast<std::size_t>(i)]);
    EXPECT_EQ(over.at("status"), is_yes(i) ? "completed" : "failed") << runs[static_cast<std::size_t>(i)];
    EXPECT_EQ(over.at("attempt"), is_yes(i) ? "2" : "1");
  }
  for (const std::string& line : effects()) ++done[line.substr(0, line.rfind(' '))];
  for (int i = 0; i < count; ++i) {
    const std::string effect = fmt::format("effect {} 2", runs[static_cast<std::size_t>(i)]);
    EXPECT_EQ(done[effect], is_yes(i) ? 1 : 0) << effect;
  }
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

}  // namespace
}  // namespace reeve
