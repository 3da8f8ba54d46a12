#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/flow_proof.h"

// A store that refuses for a while: nothing is lost or done twice, and nothing fails that never began. A trigger in the
// database refuses one kind of change.
namespace reeve {
namespace {

using testing::eventually;

class FlowTrouble : public testing::FlowProofTest {
 protected:
  void SetUp() override {
    write_project("supervision: {poll_interval: 200ms}\n");
    ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  }
  void change(const std::string& sql) const {
    sqlite3* opened = nullptr;
    ASSERT_EQ(::sqlite3_open_v2((state() / "reeve.db").c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&::sqlite3_close)> database(opened, ::sqlite3_close);
    ::sqlite3_busy_timeout(opened, 20'000);
    // Otherwise closing the connection could empty the WAL that the daemon watches.
    ASSERT_EQ(::sqlite3_exec(opened, "PRAGMA wal_autocheckpoint = 0", nullptr, nullptr, nullptr), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(opened, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(opened);
  }
  void refuse(const std::string& what) const {
    change(fmt::format("CREATE TRIGGER trouble BEFORE {} BEGIN SELECT RAISE(ABORT, 'refused by a test'); END", what));
  }
  bool has_complained(const std::string& text) const {
    return testing::read_text(state() / "logs/daemon.log").contains(text);
  }
};

TEST_F(FlowTrouble, a_step_whose_start_could_not_be_stored_begins_later) {
  refuse("INSERT ON tool_runs WHEN NEW.node_id = 'c'");
  start_flow(state(), "chain", "trouble");
  ASSERT_TRUE(eventually([&] { return has_complained("cannot start `c` of "); }));
  change("DROP TRIGGER trouble");
  wait_until_over(state());
  expect_proved(state());
  EXPECT_EQ(ledger().size(), 2U * 4);
}

TEST_F(FlowTrouble, a_step_whose_end_could_not_be_stored_ends_later) {
  refuse("UPDATE ON node_executions WHEN NEW.node_id = 'c' AND NEW.status = 'completed'");
  start_flow(state(), "chain", "trouble");
  ASSERT_TRUE(eventually([&] { return has_complained("cannot store the result"); }));
  change("DROP TRIGGER trouble");
  wait_until_over(state());
  expect_proved(state());
  EXPECT_EQ(ledger().size(), 2U * 4);
}

}  // namespace
}  // namespace reeve
