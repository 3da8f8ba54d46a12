#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/scripted_flow.h"

// GRF-13: a store that refuses for a while fails no step. A column that one statement alone reads is named otherwise,
// so that everything else goes on.
namespace reeve {
namespace {

using testing::Members;

class FlowStore : public testing::ScriptedFlowTest {
 protected:
  // The record of the execution cannot be read meanwhile.
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
    // Only the daemon moves its log into the database.
    ASSERT_EQ(::sqlite3_exec(opened, "PRAGMA wal_autocheckpoint = 0", nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(opened);
  }
};

// What an execution was started with cannot be read: nothing has begun, and nothing has failed.
TEST_F(FlowStore, a_step_whose_ground_cannot_be_read_begins_when_it_can) {
  const std::string id =
      start_flow(workflow(node("ask", "human, human_config: {title: Go on?}") + shell("a", mark("a")), edges("ask>a"),
                          "{isolation: none}"));
  const std::string question = question_at(id, "ask");
  // The next daemon has to look it up.
  kill_daemon();
  EXPECT_EQ(execution(id).at("status"), "waiting_approval");
  change("ALTER TABLE executions RENAME COLUMN config TO config_elsewhere");
  EXPECT_EQ(reeve({"approve", question}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return was_told("a", "running"); }));
  // It has been tried: a run of a person's own comes and goes.
  EXPECT_EQ(reeve({"run", "--", "/bin/sleep", "1.5"}).code, 0);
  EXPECT_FALSE(was_told("a", "failed"));
  EXPECT_EQ(effect_count("a"), 0);
  change("ALTER TABLE executions RENAME COLUMN config_elsewhere TO config");
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("a"), 1);
}

}  // namespace
}  // namespace reeve
