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

// APR-7, APR-13: whatever dies between the question and its effect, a yes has its effect once and a no has none. On
// SQLite, and once more on PostgreSQL (tests/CMakeLists.txt).
namespace reeve {
namespace {

using testing::Members;
using testing::Outcome;
using testing::Words;

class ApprovalCrash : public testing::ApprovalFlowTest {
 protected:
  ApprovalCrash() { configure(store_); }

  // A database of its own on the server that ctest has started.
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

  // A client that loses its daemon may be told so: the truth is in the store.
  void decide(const std::string& id, const std::string& word) const {
    EXPECT_TRUE(testing::eventually([&] {
      const Outcome outcome = reeve({word, id});
      return outcome.code == 0 || outcome.code == 4;
    })) << word
        << " " << id;
  }
};

class ApprovalDaemonCrashPoint : public ApprovalCrash, public ::testing::WithParamInterface<const char*> {};

// The daemon that is told the decision dies there; the next one goes on.
TEST_P(ApprovalDaemonCrashPoint, a_yes_has_its_effect_once) {
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

// The same for a no.
TEST_F(ApprovalCrash, a_no_has_no_effect_whatever_dies) {
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

// APR-7: without its marker the keeper of the second attempt began nothing: tried again within that attempt, with the
// same words.
TEST_F(ApprovalCrash, a_keeper_that_dies_before_its_marker_has_used_nothing_up) {
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

// APR-7, S3: a restart that cannot begin is tried again as often as `supervision.resume_attempts` says, then it failed.
TEST_F(ApprovalCrash, a_restart_that_never_begins_is_tried_as_often_as_the_config_says) {
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
    EXPECT_EQ(over.at("reason"), fmt::format("it could not be started: its keeper ended before it began; so it did "
                                             "after {} restart{}",
                                             restarts, restarts == 1 ? "" : "s"));
    daemon->signal(SIGTERM);
    EXPECT_EQ(daemon->wait(), 0);
  }
  EXPECT_EQ(effects().size(), 0U);
}

// APR-10: between the use of the grant and the start nobody watches; what changed then is asked about too.
TEST_F(ApprovalCrash, what_changed_between_use_and_start_does_not_run) {
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

// RUN-13: from the marker on it may have run: a person is asked once more.
TEST_F(ApprovalCrash, a_keeper_that_dies_behind_its_marker_is_asked_about) {
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

// APR-13: nobody was there when it was decided, or when its time was over.
TEST_F(ApprovalCrash, what_expired_while_nobody_was_there_is_over_at_once) {
  const std::string run = start_script(asks_then("effect", R"(,"expires_in_seconds":2)"));
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  // Nobody is there until its time is over.
  EXPECT_EQ(testing::run_program({.argv = {testing::zoo_binary(), "silent", "3"}}).code, 0);
  EXPECT_EQ(reeve({"approve", "AP-1"}).code, 4);
  EXPECT_EQ(finish(run).at("reason"), "approval expired");
  EXPECT_EQ(effects().size(), 0U);
}

// Many are decided by four people while the daemon is killed at any moment. REEVE_TEST_APPROVALS: how many.
TEST_F(ApprovalCrash, every_decision_has_its_effect_once_while_the_daemon_is_killed) {
  const char* wanted = std::getenv("REEVE_TEST_APPROVALS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 60;
  constexpr int people = 4;
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
    ::usleep(static_cast<useconds_t>(random() % 200'000));
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
