#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/approvals.h"

// No command waits silently on a locked store, a stopped server or a stopped daemon. Reads are answered where possible;
// other requests fail with exit 6 and a reason; commands that wait print what they wait for.
namespace reeve {
namespace {

using ::testing::AnyOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using testing::Words;

// Another program that locks the database.
class Locker {
 public:
  Locker(const std::filesystem::path& state, const char* begin) {
    EXPECT_EQ(::sqlite3_open_v2((state / "reeve.db").c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    ::sqlite3_busy_timeout(database_, 20'000);
    // Only the daemon checkpoints the WAL.
    ::sqlite3_exec(database_, "PRAGMA wal_autocheckpoint = 0", nullptr, nullptr, nullptr);
    EXPECT_EQ(::sqlite3_exec(database_, begin, nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(database_);
  }
  ~Locker() { ::sqlite3_close(database_); }
  Locker(const Locker&) = delete;
  Locker& operator=(const Locker&) = delete;

 private:
  sqlite3* database_ = nullptr;
};

// Processes that are stopped for the lifetime of this object.
class Stopped {
 public:
  explicit Stopped(std::vector<pid_t> pids) : pids_(std::move(pids)) {
    for (const pid_t pid : pids_) EXPECT_EQ(::kill(pid, SIGSTOP), 0);
  }
  ~Stopped() {
    for (const pid_t pid : pids_) ::kill(pid, SIGCONT);
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  std::vector<pid_t> pids_;
};

class Silence : public testing::ApprovalsTest {
 protected:
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  std::string go_file() const { return (scratch().path() / "go").string(); }
  std::string detach_waiting() const {
    const std::string id = detach({}, {"wait-file", go_file()});
    wait_for_output(id, "waiting");
    return id;
  }
  std::string detach_script(const std::string& script) const {
    const Outcome outcome = reeve({"run", "--detach", "--", "/bin/sh", "-c", script});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
  // All at once, because each takes a while to give up.
  std::vector<std::unique_ptr<Session>> start_all(const std::vector<Words>& commands) const {
    std::vector<std::unique_ptr<Session>> sessions;
    for (const Words& words : commands) sessions.push_back(start(words));
    return sessions;
  }
};

class LockedStore : public Silence, public ::testing::WithParamInterface<const char*> {};

// A tool that reads its own decisions does not wait for a store that another program holds locked.
TEST_P(LockedStore, a_run_reads_its_decisions_from_its_own_socket) {
  const std::string run = detach_script(fmt::format(
      R"(echo up; while [ ! -e '{}' ]; do sleep 0.05; done; curl -s --max-time 20 --unix-socket "$REEVE_SOCKET" http://reeve/api/decisions)",
      go_file()));
  wait_for_output(run, "up");
  {
    const Locker locker(state(), GetParam());
    std::ofstream(go_file()) << "x";
    EXPECT_TRUE(eventually([&] { return logs(run).contains("{}"); }));
  }
  EXPECT_EQ(finish(run)["status"], "completed");
}

// RUN-15: a run that waits for an approval can be cancelled while the exit of its process is being stored.
TEST_P(LockedStore, a_cancel_waits_for_the_end_of_an_exited_process) {
  const std::string run = detach_script(fmt::format(
      R"(echo '{{"event":"approval_needed","question":"Continue?"}}'; while [ ! -e '{}' ]; do sleep 0.05; done; exit 90)",
      go_file()));
  wait_for_status(run, "waiting_approval");
  std::unique_ptr<Session> cancel;
  {
    const Locker locker(state(), GetParam());
    std::ofstream(go_file()) << "x";
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(state() / "runs" / run / "1" / "exit"); }));
    cancel = start({"cancel", run});
    EXPECT_TRUE(cancel->wait_for_error("Waiting for the store"));
  }
  EXPECT_EQ(cancel->wait(), 0) << cancel->err();
  EXPECT_EQ(finish(run)["status"], "cancelled");
}

TEST_P(LockedStore, reads_are_answered_and_decisions_fail_cleanly) {
  const std::string approval = ask();
  const std::string run = detach_waiting();
  {
    const Locker locker(state(), GetParam());
    for (const Words& words :
         std::vector<Words>{{"runs"}, {"show", run}, {"approvals"}, {"logs", run}, {"flow", "list"}}) {
      const Outcome looked = reeve(words);
      EXPECT_EQ(looked.code, 0) << words.front() << ": " << looked.err;
    }
    const Outcome approved = reeve({"approve", "--yes", approval});
    EXPECT_EQ(approved.code, 6) << approved.err;
    EXPECT_THAT(approved.err, HasSubstr("Waiting for the store, which is locked by another program"));
    EXPECT_THAT(approved.err, HasSubstr("error[store.busy]"));
    EXPECT_THAT(approved.err, HasSubstr("nothing was changed"));
    const Outcome doctor = reeve({"doctor"});
    EXPECT_EQ(doctor.code, 1);
    EXPECT_THAT(doctor.out, HasSubstr("the database is locked by "));
  }
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(finish(run)["status"], "completed");
  // A request that was given up does not take effect later.
  const Outcome shown = reeve({"show", approval, "--json"});
  EXPECT_THAT(shown.out, HasSubstr("\"pending\""));
  EXPECT_EQ(reeve({"approve", "--yes", approval}).code, 0);
}

TEST_P(LockedStore, waiting_requests_continue_after_the_lock) {
  const std::string run = detach_waiting();
  auto locker = std::make_unique<Locker>(state(), GetParam());
  const auto started = start(run_words({"--detach", "--stdin", "none"}, {"exit", "0"}));
  const auto waiting = start({"wait", run});
  started->wait_for_error("Waiting for the store");
  waiting->wait_for_error("Waiting for the store");
  EXPECT_FALSE(started->is_over());
  EXPECT_FALSE(waiting->is_over());
  locker.reset();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(started->wait(), 0) << started->err();
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  // Retried while the store was locked, and done once.
  EXPECT_EQ(started->out(), "TR-2\n");
  EXPECT_THAT(reeve({"runs"}).out, Not(HasSubstr("TR-3")));
}

TEST_P(LockedStore, stop_works_while_the_store_is_locked) {
  const std::string run = detach_waiting();
  const pid_t daemon = daemon_pid();
  {
    const Locker locker(state(), GetParam());
    const Outcome stopped = reeve({"stop"});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_TRUE(eventually([&] { return !testing::is_alive(daemon); }));
    // A failed daemon start reports the reason, too.
    const Outcome looked = reeve({"runs"});
    EXPECT_EQ(looked.code, 6);
    EXPECT_THAT(looked.err, HasSubstr("Waiting for the daemon to start"));
    EXPECT_THAT(looked.err, HasSubstr("another program has locked it"));
  }
  std::ofstream(go_file()) << "x";
  const Members ended = finish(run);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(ended.at("attempt"), "1");
}

INSTANTIATE_TEST_SUITE_P(Locks, LockedStore, ::testing::Values("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"),
                         [](const auto& told) { return std::string(told.param).substr(6); });

TEST_F(Silence, stopped_daemon_is_reported_and_clients_give_up) {
  const std::string approval = ask();
  const std::string run = detach_waiting();
  const std::string other = detach({}, {"silent", "1000"});
  const std::string name = fmt::format("Waiting for the daemon (pid {}), which is suspended", daemon_pid());
  auto stopped = std::make_unique<Stopped>(std::vector<pid_t>{daemon_pid()});
  const auto given_up = start_all({{"cancel", other},
                                   {"approve", "--yes", approval},
                                   {"runs"},
                                   {"show", run},
                                   {"approvals"},
                                   {"logs", run},
                                   {"flow", "list"}});
  const auto started = start(run_words({"--detach", "--stdin", "none"}, {"exit", "0"}));
  const auto waiting = start({"wait", run});
  for (const auto& session : given_up) {
    EXPECT_EQ(session->wait(), 6) << session->err();
    EXPECT_THAT(session->err(), HasSubstr(name));
    EXPECT_THAT(session->err(), HasSubstr("error[daemon.unavailable]"));
    EXPECT_THAT(session->err(), HasSubstr("kill -CONT"));
  }
  const Outcome doctor = reeve({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("is suspended"));
  const Outcome stop = reeve({"stop"});
  EXPECT_EQ(stop.code, 6);
  EXPECT_THAT(stop.err, HasSubstr("is suspended"));
  EXPECT_THAT(stop.err, HasSubstr("kill -KILL"));
  started->wait_for_error(name);
  waiting->wait_for_error(name);
  EXPECT_FALSE(started->is_over());
  EXPECT_FALSE(waiting->is_over());
  stopped.reset();
  EXPECT_EQ(started->wait(), 0) << started->err();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  // Both read the record first, so nothing was sent.
  EXPECT_EQ(reeve({"approve", "--yes", approval}).code, 0);
  EXPECT_THAT(reeve({"cancel", other}).code, AnyOf(0, 4));
  EXPECT_EQ(finish(other)["status"], "cancelled");
}

class SilentServer : public Silence {
 protected:
  void SetUp() override {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server was started";
    server_ = server;
    static int count = 0;
    database_ = fmt::format("silence_{}_{}", ::getpid(), ++count);
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server_, "-U", "reeve", database_}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    ASSERT_EQ(made.code, 0) << made.err;
    scratch().write("home/.config/reeve/config.yaml",
                    fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database_, server_));
  }
  // Only those of this database: other tests use the same server.
  std::vector<pid_t> backends() const {
    const Outcome listed = testing::run_program(
        {.argv = {"psql", "-h", server_, "-U", "reeve", "-d", database_, "-Atc",
                  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"},
         .environment = {{"PATH", "/usr/bin:/bin"}}});
    std::vector<pid_t> pids;
    for (const std::string& line : testing::lines_of(listed.out)) pids.push_back(std::stoi(line));
    return pids;
  }

 private:
  std::string server_;
  std::string database_;
};

TEST_F(SilentServer, stalled_server_is_reported_and_clients_give_up) {
  const std::string approval = "AP-1";
  Words words = {"run", "--detach", "--"};
  for (const std::string& word : asking(R"("question":"Go on?")")) words.push_back(word);
  ASSERT_EQ(reeve(words).code, 0);
  wait_for_status("TR-1", "waiting_approval");
  const std::string run = detach_waiting();
  const auto pids = backends();
  ASSERT_FALSE(pids.empty());
  auto stopped = std::make_unique<Stopped>(pids);
  const auto given_up = start_all(
      {{"approve", "--yes", approval}, {"runs"}, {"show", run}, {"approvals"}, {"logs", run}, {"flow", "list"}});
  const auto started = start(run_words({"--detach", "--stdin", "none"}, {"exit", "0"}));
  for (const auto& session : given_up) {
    EXPECT_EQ(session->wait(), 6) << session->err();
    EXPECT_THAT(session->err(), HasSubstr("PostgreSQL server"));
  }
  const std::string decided = request("POST", fmt::format("/api/approvals/{}/approve", approval), "{}");
  EXPECT_THAT(decided, HasSubstr(" 503 "));
  EXPECT_THAT(decided, AnyOf(HasSubstr("nothing was changed"), HasSubstr("store.unknown_outcome")));
  const bool was_withdrawn = decided.contains("nothing was changed");
  const Outcome doctor = reeve({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("the PostgreSQL server does not respond"));
  started->wait_for_error("Waiting for the store: the PostgreSQL server does not respond");
  EXPECT_FALSE(started->is_over());
  stopped.reset();
  EXPECT_EQ(started->wait(), 0) << started->err();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(finish(run)["status"], "completed");
  const int code = reeve({"approve", "--yes", approval}).code;
  EXPECT_TRUE(code == 0 || (code == 4 && !was_withdrawn)) << code;
}

TEST_F(SilentServer, stop_works_while_the_server_is_stalled) {
  const std::string run = detach_waiting();
  {
    const Stopped stopped(backends());
    const Outcome left = reeve({"stop"});
    EXPECT_EQ(left.code, 0) << left.err;
  }
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(finish(run)["status"], "completed");
}

}  // namespace
}  // namespace reeve
