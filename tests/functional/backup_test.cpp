#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"

// `reeve backup` and `reeve restore`: a copy that is complete, has no secrets, and never acts on the original.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Variables;
using testing::Words;

class Backup : public testing::ApprovalsTest {
 protected:
  fs::path file() const { return scratch().path() / "state.backup"; }
  fs::path other() const { return scratch().path() / "other"; }
  // `reeve` on the restored folder.
  Outcome there(Words words) const {
    words.insert(words.begin(), {"--state", other().string()});
    return reeve(words);
  }
  void TearDown() override {
    if (fs::exists(other())) there({"stop"});
    ApprovalsTest::TearDown();
  }
};

TEST_F(Backup, restored_copy_has_runs_and_their_output) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  const std::string output = logs("TR-1");
  const Outcome made = reeve({"backup", file().string()});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(fs::status(file()).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
  // Work after the backup is not in it.
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  const Outcome restored = reeve({"--state", other().string(), "restore", file().string()});
  ASSERT_EQ(restored.code, 0) << restored.err;
  EXPECT_THAT(there({"logs", "TR-1"}).out, output);
  EXPECT_EQ(there({"show", "TR-2"}).code, 3);
  EXPECT_EQ(there({"audit", "verify"}).code, 0);
  // The original continues.
  EXPECT_EQ(reeve({"show", "TR-2"}).code, 0);
}

// The daemon keeps working, and what runs in the original is never touched by the copy.
TEST_F(Backup, live_run_of_the_original_is_failed_in_the_copy) {
  const std::string live = detach({}, {"wait-file", "go"});
  const std::string asking = detach({}, {"write-then-exit", "1", "90"});
  wait_for_status(asking, "waiting_approval");
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  ASSERT_EQ(there({"restore", file().string()}).code, 0);
  EXPECT_THAT(there({"show", live}).out, HasSubstr("restored from a backup"));
  // The question waits in both; its run cannot continue in the copy, which has no launch file.
  EXPECT_THAT(there({"approvals"}).out, HasSubstr("AP-1"));
  EXPECT_EQ(show(live)["status"], "running");
  scratch().write("project/go", "");
  EXPECT_EQ(finish(live)["status"], "completed");
  EXPECT_EQ(there({"approve", "AP-1", "--yes"}).code, 0);
  EXPECT_NE(there({"wait", asking}).code, 0);
  EXPECT_EQ(show(asking)["status"], "waiting_approval");
}

TEST_F(Backup, contains_no_launch_files_and_tokens) {
  ASSERT_EQ(reeve({"token", "create", "ci", "--scope", "operate"}).code, 0);
  ASSERT_EQ(reeve({"run", "--detach", "--", testing::zoo_binary(), "wait-file", "go"}, {{"PASSPHRASE", "gEhEiM"}}).code,
            0);
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  scratch().write("project/go", "");
  const std::string bytes = testing::read_text(file());
  EXPECT_THAT(bytes, Not(HasSubstr("gEhEiM")));
  EXPECT_THAT(bytes, Not(HasSubstr("/launch")));
  EXPECT_THAT(bytes, HasSubstr("removed from a backup"));
  ASSERT_EQ(there({"restore", file().string()}).code, 0);
  EXPECT_THAT(there({"token", "list"}).out, HasSubstr("ci\trevoked"));
  EXPECT_THAT(reeve({"token", "list"}).out, HasSubstr("ci\tactive"));
  finish("TR-1");
}

TEST_F(Backup, nothing_is_overwritten) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  scratch().write("state.backup", "mine");
  EXPECT_EQ(reeve({"backup", file().string()}).code, 4);
  EXPECT_EQ(testing::read_text(file()), "mine");
  EXPECT_EQ(reeve({"backup", (scratch().path() / "none/x").string()}).code, 2);
  fs::remove(file());
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  // The folder of the original has content.
  const Outcome refused = reeve({"restore", file().string()});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("error[restore.not_empty]"));
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 0);
  // So has a folder with other files.
  fs::create_directory(other());
  std::ofstream(other() / "letter.txt") << "mine";
  EXPECT_NE(there({"restore", file().string()}).code, 0);
  EXPECT_FALSE(fs::exists(other() / "reeve.db"));
  fs::remove_all(other());
}

TEST_F(Backup, damaged_backup_is_refused_before_anything_is_written) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  std::string bytes = testing::read_text(file());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  fs::remove(file());
  scratch().write("state.backup", bytes);
  EXPECT_EQ(there({"restore", file().string()}).code, 1);
  EXPECT_FALSE(fs::exists(other()));
  scratch().write("text", "not a backup");
  EXPECT_EQ(there({"restore", (scratch().path() / "text").string()}).code, 2);
  EXPECT_EQ(there({"restore", (scratch().path() / "none").string()}).code, 3);
}

TEST_F(Backup, digest_of_the_backup_is_compared) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  const std::string digest = testing::parse_object(reeve({"backup", file().string(), "--json"}).out).value()["digest"];
  EXPECT_EQ(there({"restore", file().string(), "--digest", std::string(64, '0')}).code, 1);
  EXPECT_EQ(there({"restore", file().string(), "--digest", digest}).code, 0);
}

// A kill in the middle leaves a folder that no daemon uses, and the same command repeats it.
TEST_F(Backup, interrupted_restore_is_repeated) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  ASSERT_EQ(there({"restore", file().string()}).code, 0);
  // As a kill before the last step would have left it.
  std::ofstream(other() / "restore.part") << "x";
  fs::remove(other() / "reeve.db");
  const Outcome refused = there({"runs"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("restore.unfinished"));
  EXPECT_EQ(there({"restore", file().string()}).code, 0);
  EXPECT_THAT(there({"runs"}).out, HasSubstr("TR-1"));
}

// APR-11
TEST_F(Backup, processes_inside_runs_are_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_NE(reeve({"run", "--", testing::reeve_binary(), "backup", file().string()}).code, 0);
  EXPECT_FALSE(fs::exists(file()));
  ASSERT_EQ(reeve({"backup", file().string()}).code, 0);
  EXPECT_NE(reeve({"run", "--", testing::reeve_binary(), "--state", other().string(), "restore", file().string()}).code,
            0);
  EXPECT_FALSE(fs::exists(other()));
}

}  // namespace
}  // namespace reeve
