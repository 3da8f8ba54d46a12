#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Files that are removed or renamed while a daemon runs: accepted work is not lost, new work is refused, and there is
// never a second daemon.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using ::testing::SizeIs;

class FilesRemoved : public testing::DaemonTest {
 protected:
  std::vector<testing::FoundProcess> daemons() const {
    auto found = processes();
    std::erase_if(found, [](const testing::FoundProcess& process) {
      return !process.command.contains(" serve ") || process.command.contains("reeve-keeper");
    });
    return found;
  }
  void kill_daemon() const {
    const auto found = daemons();
    ASSERT_THAT(found, SizeIs(1));
    ASSERT_EQ(::kill(found.front().pid, SIGKILL), 0);
  }
  void expect_refused(const std::string& what, const std::string& fix) const {
    for (const testing::Words& command : {testing::Words{"run", "--", "true"}, {"cancel", "TR-1"}}) {
      const Outcome outcome = reeve(command);
      EXPECT_EQ(outcome.code, 1) << outcome.err;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr("error[store.files_removed]"), HasSubstr(what), HasSubstr(fix)));
    }
    EXPECT_THAT(reeve({"doctor"}).out, AllOf(HasSubstr("store\tfail\t"), HasSubstr(what)));
    EXPECT_EQ(reeve({"runs"}).code, 0);
  }
};

TEST_F(FilesRemoved, accepted_runs_survive_a_removed_wal_and_a_kill) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  fs::remove(state() / "reeve.db-wal");
  expect_refused("reeve.db-wal was removed", "reeve stop");
  kill_daemon();
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
  // The next daemon works with a new WAL and reuses no id.
  ASSERT_EQ(run({}, {"exit", "3"}).code, 3);
  EXPECT_EQ(show("TR-2").at("exit_code"), "3");
}

TEST_F(FilesRemoved, removed_wal_index_is_detected) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  fs::remove(state() / "reeve.db-shm");
  expect_refused("reeve.db-shm was removed", "reeve stop");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
}

// RUN-4: limits are still enforced, and exits are stored.
TEST_F(FilesRemoved, runs_stay_supervised) {
  const std::string id = detach({"--timeout", "2"}, {"silent", "1000"});
  wait_for_status(id, "running");
  fs::remove(state() / "reeve.db-wal");
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 1);
  EXPECT_EQ(finish(id).at("status"), "failed_timeout");
  kill_daemon();
  EXPECT_EQ(show(id).at("status"), "failed_timeout");
}

TEST_F(FilesRemoved, restored_database_is_used_again) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  const fs::path away = scratch().path() / "away.db";
  fs::rename(state() / "reeve.db", away);
  expect_refused("reeve.db was removed", away.string());
  EXPECT_FALSE(fs::exists(state() / "reeve.db"));
  fs::rename(away, state() / "reeve.db");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
}

TEST_F(FilesRemoved, moved_database_contains_all_accepted_runs) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  const fs::path away = scratch().path() / "away.db";
  fs::rename(state() / "reeve.db", away);
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 1);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  kill_daemon();
  const Outcome outcome = reeve({"runs"});
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("state.database_missing"));
  fs::rename(away, state() / "reeve.db");
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
}

TEST_F(FilesRemoved, deleted_database_is_rescued) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  fs::remove(state() / "reeve.db");
  expect_refused("reeve.db was removed", "reeve.db.rescued");
  ASSERT_TRUE(eventually([&] { return fs::exists(state() / "reeve.db.rescued"); }));
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_THAT(reeve({"runs"}).err, HasSubstr("state.database_missing"));
  fs::rename(state() / "reeve.db.rescued", state() / "reeve.db");
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
}

TEST_F(FilesRemoved, removed_lock_file_allows_no_second_daemon) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  fs::remove(state() / "reeve.lock");
  {
    const auto second = start({"serve"});
    EXPECT_EQ(second->wait(), 4) << second->err();
    EXPECT_THAT(second->err(), HasSubstr("daemon.already_running"));
    EXPECT_THAT(daemons(), SizeIs(1));
  }
  EXPECT_TRUE(eventually([&] { return fs::exists(state() / "reeve.lock"); }));
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(reeve({"serve"}).code, 4);
}

TEST_F(FilesRemoved, removed_socket_is_recreated) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  fs::remove(socket());
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  // Daemons that the client tried to start find the folder in use and exit.
  EXPECT_TRUE(eventually([&] { return daemons().size() == 1; }));
  EXPECT_EQ(show("TR-2").at("status"), "completed");
}

TEST_F(FilesRemoved, daemon_without_its_folder_ends_its_runs_and_exits) {
  ASSERT_EQ(testing::run_program({.argv = {"/usr/bin/git", "init", "-q", project().string()},
                                  .environment = {{"HOME", (scratch().path() / "home").string()}}})
                .code,
            0);
  const auto client = start(run_words({}, {"wait-file", (scratch().path() / "never").string()}));
  client->wait_for("waiting");
  ASSERT_EQ(testing::run_program({.argv = {"/usr/bin/git", "clean", "-qfdx"},
                                  .folder = project(),
                                  .environment = {{"HOME", (scratch().path() / "home").string()}}})
                .code,
            0);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_TRUE(eventually([&] { return processes().empty(); }));
  EXPECT_FALSE(fs::exists(state()));
  // A note reports it.
  fs::create_directories(project() / ".reeve");
  const Outcome outcome = reeve({"runs"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("was removed"));
}

TEST_F(FilesRemoved, recreated_folder_gets_no_second_daemon) {
  const std::string id = detach({}, {"wait-file", (scratch().path() / "never").string()});
  wait_for_output(id, "waiting");
  const pid_t before = daemons().front().pid;
  fs::remove_all(state());
  const Outcome outcome = reeve({"runs"});
  if (outcome.code != 0) EXPECT_THAT(outcome.err, HasSubstr("was removed while its daemon"));
  EXPECT_TRUE(eventually([&] { return !testing::is_alive(before); }));
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_TRUE(eventually([&] { return daemons().size() == 1; }));
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

TEST_F(FilesRemoved, a_moved_folder_is_noticed) {
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  const fs::path away = scratch().path() / "away";
  fs::rename(project(), away);
  testing::Launch there = launch({"run", "--state", (away / ".reeve/state").string(), "--", "true"});
  there.folder = "/";
  const Outcome outcome = testing::run_program(there);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("store.files_removed"), HasSubstr("was moved to"), HasSubstr("move it back")));
  fs::rename(away, project());
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(show("TR-1").at("exit_code"), "7");
}

}  // namespace
}  // namespace reeve
