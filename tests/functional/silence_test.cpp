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

// Nobody waits in silence: a store that is locked, a server or a daemon that is stopped. What only looks is answered
// where it can be; what cannot be is given up with exit 6 and a reason; what waits by nature says what it waits for.
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

// Another program that holds the database.
class Locker {
 public:
  Locker(const std::filesystem::path& state, const char* begin) {
    EXPECT_EQ(::sqlite3_open_v2((state / "reeve.db").c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    ::sqlite3_busy_timeout(database_, 20'000);
    // Only the daemon moves its log into the database.
    ::sqlite3_exec(database_, "PRAGMA wal_autocheckpoint = 0", nullptr, nullptr, nullptr);
    EXPECT_EQ(::sqlite3_exec(database_, begin, nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(database_);
  }
  ~Locker() { ::sqlite3_close(database_); }
  Locker(const Locker&) = delete;
  Locker& operator=(const Locker&) = delete;

 private:
  sqlite3* database_ = nullptr;
};

// Processes that stand still as long as this lives.
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
  // All at once: each takes its time until it gives up.
  std::vector<std::unique_ptr<Session>> start_all(const std::vector<Words>& commands) const {
    std::vector<std::unique_ptr<Session>> sessions;
    for (const Words& words : commands) sessions.push_back(start(words));
    return sessions;
  }
};

class LockedStore : public Silence, public ::testing::WithParamInterface<const char*> {};

TEST_P(LockedStore, looks_are_answered_and_decisions_are_given_up_whole) {
  const std::string approval = ask();
  const std::string run = detach_waiting();
  {
    const Locker locker(state(), GetParam());
    for (const Words& words :
         std::vector<Words>{{"runs"}, {"show", run}, {"approvals"}, {"logs", run}, {"flow", "list"}}) {
      const Outcome looked = reeve(words);
      EXPECT_EQ(looked.code, 0) << words.front() << ": " << looked.err;
    }
    const Outcome approved = reeve({"approve", approval});
    EXPECT_EQ(approved.code, 6) << approved.err;
    EXPECT_THAT(approved.err, HasSubstr("Waiting for the store, which another program holds locked"));
    EXPECT_THAT(approved.err, HasSubstr("error[store.busy]"));
    EXPECT_THAT(approved.err, HasSubstr("nothing was changed"));
    const Outcome doctor = reeve({"doctor"});
    EXPECT_EQ(doctor.code, 1);
    EXPECT_THAT(doctor.out, HasSubstr("holds the database locked"));
  }
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(finish(run)["status"], "completed");
  // What was given up does not happen later.
  const Outcome shown = reeve({"show", approval, "--json"});
  EXPECT_THAT(shown.out, HasSubstr("\"pending\""));
  EXPECT_EQ(reeve({"approve", approval}).code, 0);
}

TEST_P(LockedStore, what_waits_goes_on_when_the_lock_is_gone) {
  const std::string run = detach_waiting();
  auto locker = std::make_unique<Locker>(state(), GetParam());
  const auto started = start(run_words({"--detach"}, {"exit", "0"}));
  const auto waiting = start({"wait", run});
  started->wait_for_error("Waiting for the store");
  waiting->wait_for_error("Waiting for the store");
  EXPECT_FALSE(started->is_over());
  EXPECT_FALSE(waiting->is_over());
  locker.reset();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(started->wait(), 0) << started->err();
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  // Asked for again and again while it was locked, and done once.
  EXPECT_EQ(started->out(), "TR-2\n");
  EXPECT_THAT(reeve({"runs"}).out, Not(HasSubstr("TR-3")));
}

TEST_P(LockedStore, stop_works_without_it) {
  const std::string run = detach_waiting();
  const pid_t daemon = daemon_pid();
  {
    const Locker locker(state(), GetParam());
    const Outcome stopped = reeve({"stop"});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_TRUE(eventually([&] { return !testing::is_alive(daemon); }));
    // Nor does one begin without a word about why.
    const Outcome looked = reeve({"runs"});
    EXPECT_EQ(looked.code, 6);
    EXPECT_THAT(looked.err, HasSubstr("Waiting for the daemon to start"));
    EXPECT_THAT(looked.err, HasSubstr("another program holds it locked"));
  }
  std::ofstream(go_file()) << "x";
  const Members ended = finish(run);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(ended.at("attempt"), "1");
}

INSTANTIATE_TEST_SUITE_P(Locks, LockedStore, ::testing::Values("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"),
                         [](const auto& told) { return std::string(told.param).substr(6); });

TEST_F(Silence, a_stopped_daemon_is_named_and_given_up) {
  const std::string approval = ask();
  const std::string run = detach_waiting();
  const std::string other = detach({}, {"silent", "1000"});
  const std::string name = fmt::format("Waiting for the daemon (pid {}), which is stopped", daemon_pid());
  auto stopped = std::make_unique<Stopped>(std::vector<pid_t>{daemon_pid()});
  const auto given_up = start_all({{"cancel", other},
                                   {"approve", approval},
                                   {"runs"},
                                   {"show", run},
                                   {"approvals"},
                                   {"logs", run},
                                   {"flow", "list"}});
  const auto started = start(run_words({"--detach"}, {"exit", "0"}));
  const auto waiting = start({"wait", run});
  for (const auto& session : given_up) {
    EXPECT_EQ(session->wait(), 6) << session->err();
    EXPECT_THAT(session->err(), HasSubstr(name));
    EXPECT_THAT(session->err(), HasSubstr("error[daemon.unavailable]"));
    EXPECT_THAT(session->err(), HasSubstr("kill -CONT"));
  }
  // It may hear that later.
  EXPECT_THAT(given_up.front()->err(), HasSubstr("whether it was done is not known"));
  const Outcome doctor = reeve({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_THAT(doctor.out, HasSubstr("is stopped"));
  const Outcome stop = reeve({"stop"});
  EXPECT_EQ(stop.code, 6);
  EXPECT_THAT(stop.err, HasSubstr("is stopped"));
  EXPECT_THAT(stop.err, HasSubstr("kill -KILL"));
  started->wait_for_error(name);
  waiting->wait_for_error(name);
  EXPECT_FALSE(started->is_over());
  EXPECT_FALSE(waiting->is_over());
  stopped.reset();
  EXPECT_EQ(started->wait(), 0) << started->err();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  // Nothing was decided by what only looked before; what was asked for and given up may have been done.
  EXPECT_EQ(reeve({"approve", approval}).code, 0);
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
  // Those that serve this database: other tests use the same server.
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

TEST_F(SilentServer, a_server_that_stands_still_is_named_and_given_up) {
  const std::string approval = "AP-1";
  Words words = {"run", "--detach", "--"};
  for (const std::string& word : asking(R"("question":"Go on?")")) words.push_back(word);
  ASSERT_EQ(reeve(words).code, 0);
  wait_for_status("TR-1", "waiting_approval");
  const std::string run = detach_waiting();
  const auto pids = backends();
  ASSERT_FALSE(pids.empty());
  auto stopped = std::make_unique<Stopped>(pids);
  const auto given_up =
      start_all({{"approve", approval}, {"runs"}, {"show", run}, {"approvals"}, {"logs", run}, {"flow", "list"}});
  const auto started = start(run_words({"--detach"}, {"exit", "0"}));
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
  EXPECT_THAT(doctor.out, HasSubstr("the PostgreSQL server does not answer"));
  started->wait_for_error("Waiting for the store: the PostgreSQL server does not answer");
  EXPECT_FALSE(started->is_over());
  stopped.reset();
  EXPECT_EQ(started->wait(), 0) << started->err();
  std::ofstream(go_file()) << "x";
  EXPECT_EQ(finish(run)["status"], "completed");
  const int code = reeve({"approve", approval}).code;
  EXPECT_TRUE(code == 0 || (code == 4 && !was_withdrawn)) << code;
}

TEST_F(SilentServer, stop_works_without_it) {
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
