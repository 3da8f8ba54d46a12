#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/scripted_flow.h"

// GRF-13: a store that refuses for a while fails no step. A column that only one statement reads is renamed, so that
// everything else continues.
namespace reeve {
namespace {

using testing::Members;

class FlowStore : public testing::ScriptedFlowTest {
 protected:
  // From the log, because the record of the execution cannot be read meanwhile.
  bool was_told(const std::string& node, const std::string& status) const {
    for (Members& line : combined_log()) {
      if (line["event"] == "node_status_change" && line["node_id"] == node && line["status"] == status) return true;
    }
    return false;
  }
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

// The settings of an execution cannot be read: nothing has started, and nothing fails.
TEST_F(FlowStore, step_with_unreadable_settings_starts_when_they_are_readable) {
  const std::string id =
      start_flow(workflow(node("ask", "human, human_config: {title: Go on?}") + shell("a", mark("a")), edges("ask>a"),
                          "{isolation: none}"));
  const std::string question = question_at(id, "ask");
  // So that the next daemon has to read them.
  kill_daemon();
  EXPECT_EQ(execution(id).at("status"), "waiting_approval");
  change("ALTER TABLE executions RENAME COLUMN config TO config_elsewhere");
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return was_told("a", "running"); }));
  // Gives the daemon time for an attempt: a user's own run starts and ends.
  EXPECT_EQ(reeve({"run", "--", "/bin/sleep", "1.5"}).code, 0);
  EXPECT_FALSE(was_told("a", "failed"));
  EXPECT_EQ(effect_count("a"), 0);
  change("ALTER TABLE executions RENAME COLUMN config_elsewhere TO config");
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("a"), 1);
}

}  // namespace
}  // namespace reeve
