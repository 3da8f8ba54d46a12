#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/daemon.h"

// A store that refuses for a while: the daemon's own writes are made once that is possible. A trigger refuses one kind
// of change for one run, so that other runs show the daemon's progress.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using testing::Members;
using testing::Outcome;
using testing::Words;

class StoreTrouble : public testing::DaemonTest {
 protected:
  // From now on refuses updates of that column for the run's attempt.
  void refuse(const std::string& column, int run) const {
    change(
        fmt::format("CREATE TRIGGER trouble BEFORE UPDATE OF {} ON run_attempts WHEN NEW.run = {} "
                    "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END",
                    column, run));
  }
  void allow() const { change("DROP TRIGGER trouble"); }

  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  void kill_daemon() const {
    ASSERT_GT(daemon_pid(), 0);
    ASSERT_EQ(::kill(daemon_pid(), SIGKILL), 0);
  }
  // Prints one line, then waits silently for the file.
  std::string detach_at_work(const fs::path& file) const {
    const std::string script =
        fmt::format(R"({} event '{{"event":"progress","percent":40}}'; until test -e {}; do sleep 0.05; done)",
                    testing::zoo_binary(), file.string());
    const Outcome started = reeve({"run", "--detach", "--", "sh", "-c", script});
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  int count_logged(const std::string& id, const std::string& text) const {
    int count = 0;
    for (Members& line : combined_log()) {
      if (line["tool_run_id"] == id && line["text"].contains(text)) ++count;
    }
    return count;
  }
  bool was_completed(const std::string& id) const {
    for (Members& line : combined_log()) {
      if (line["tool_run_id"] == id && line["status"] == "completed") return true;
    }
    return false;
  }

 private:
  void change(const std::string& sql) const {
    sqlite3* opened = nullptr;
    ASSERT_EQ(::sqlite3_open_v2((state() / "reeve.db").c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&::sqlite3_close)> database(opened, ::sqlite3_close);
    ::sqlite3_busy_timeout(opened, 20'000);
    // Only the daemon checkpoints the WAL.
    ASSERT_EQ(::sqlite3_exec(opened, "PRAGMA wal_autocheckpoint = 0", nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(opened);
  }
};

// RUN-4: the reason for the end is stored first; the limit is enforced once that succeeds.
TEST_F(StoreTrouble, limit_that_was_not_stored_is_enforced_later) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  refuse("ending", 2);
  const std::string id = detach({"--timeout", "1"}, {"silent", "1000"});
  ASSERT_EQ(id, "TR-2");
  // Its limit expires after the other's.
  EXPECT_EQ(run({"--timeout", "2"}, {"silent", "1000"}).code, 124);
  EXPECT_EQ(show(id).at("status"), "running");
  EXPECT_FALSE(tools().empty());
  allow();
  const Members ended = finish(id);
  EXPECT_EQ(ended.at("status"), "failed_timeout");
  EXPECT_EQ(ended.at("reason"), "timeout");
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// RUN-7: the report is kept and stored later, without further output of the tool.
TEST_F(StoreTrouble, progress_that_was_not_stored_is_stored_later) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  refuse("out_offset", 2);
  const fs::path file = scratch().path() / "go";
  const std::string id = detach_at_work(file);
  ASSERT_TRUE(eventually([&] { return count_logged(id, "percent") == 1; }));
  // A later report of another run is stored.
  EXPECT_EQ(run({}, {"event", R"({"event":"progress","percent":70})"}).code, 0);
  EXPECT_NE(show("TR-3")["progress"].find("70"), std::string::npos);
  EXPECT_EQ(show(id)["progress"].find("40"), std::string::npos);
  allow();
  EXPECT_TRUE(eventually([&] { return show(id)["progress"].find("40") != std::string::npos; }));
  EXPECT_EQ(show(id)["status"], "running");
  std::ofstream(file) << "x";
  EXPECT_EQ(finish(id).at("status"), "completed");
  EXPECT_EQ(count_logged(id, "percent"), 1);
}

// RUN-12: a report is not lost with its daemon either, and lines are not logged twice.
TEST_F(StoreTrouble, progress_that_was_not_stored_is_reread_by_the_next_daemon) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  refuse("out_offset", 2);
  const fs::path file = scratch().path() / "go";
  const std::string id = detach_at_work(file);
  ASSERT_TRUE(eventually([&] { return count_logged(id, "percent") == 1; }));
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  kill_daemon();
  allow();
  EXPECT_TRUE(eventually([&] { return show(id)["progress"].find("40") != std::string::npos; }));
  std::ofstream(file) << "x";
  EXPECT_EQ(finish(id).at("status"), "completed");
  EXPECT_EQ(count_logged(id, "percent"), 1);
  EXPECT_EQ(testing::count_of(logs(id), "percent"), 1);
}

// RUN-13: an adoption that could not be stored is retried.
TEST_F(StoreTrouble, adoption_that_was_not_stored_is_stored_later) {
  const fs::path first_file = scratch().path() / "first";
  const fs::path second_file = scratch().path() / "second";
  const std::string first = detach({}, {"wait-file", first_file.string()});
  const std::string second = detach({}, {"wait-file", second_file.string()});
  wait_for_output(first, "waiting");
  wait_for_output(second, "waiting");
  refuse("daemon", 1);
  kill_daemon();
  std::ofstream(second_file) << "x";
  // Checked after the first one, and adopted.
  ASSERT_TRUE(eventually([&] { return was_completed(second); }));
  std::ofstream(first_file) << "x";
  allow();
  EXPECT_EQ(wait_for_status(first, "completed").at("attempt"), "1");
  EXPECT_EQ(testing::count_of(logs(first), "go"), 1);
}

// RUN-13: a run that provably never began is started, however often storing that failed.
TEST_F(StoreTrouble, start_that_was_not_stored_is_made_later) {
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "keeper.before_marker"}});
  daemon->wait_for_error("listening");
  refuse("nonce", 1);
  const fs::path effects = scratch().path() / "effects";
  const auto client = start(run_words({}, {"effect", effects.string(), "x"}));
  // Each attempt uses a keeper, and the next one gets an endpoint.
  std::set<std::string> seats;
  ASSERT_TRUE(eventually([&] {
    for (const auto& entry : fs::directory_iterator(state() / "keepers")) {
      if (entry.path().extension() == ".lock") seats.insert(entry.path().filename());
    }
    return seats.size() >= 7;
  })) << seats.size();
  EXPECT_FALSE(fs::exists(effects));
  allow();
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(testing::lines_of(testing::read_text(effects)).size(), 1U);
  EXPECT_EQ(show("TR-1").at("attempt"), "1");
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

}  // namespace
}  // namespace reeve
