#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/old_database.h"
#include "tests/support/projects.h"

// SPEC §7: `reeve state move` brings the records of a project with its own state into the common store.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

class StateMove : public testing::ProjectsTest {
 protected:
  // A project whose `.reeve/state` exists without `state: project`.
  fs::path make_own() const {
    fs::path folder = make_project("own");
    fs::create_directories(folder / ".reeve/state");
    fs::permissions(folder / ".reeve/state", fs::perms::owner_all);
    return folder;
  }
  static fs::path state_of(const fs::path& project) { return project / ".reeve/state"; }
  // Two runs, one of them decided.
  fs::path make_history() const {
    fs::path folder = make_own();
    EXPECT_EQ(in(folder, {"run", "--", "echo", "kept words"}).code, 0);
    const std::string script = R"(if [ -z "$AUTO_APPROVAL" ]; then exit 90; fi)";
    EXPECT_EQ(in(folder, {"run", "--detach", "--", "sh", "-c", script}).code, 0);
    EXPECT_TRUE(eventually([&] { return in(folder, {"show", "TR-2"}).out.contains("status\twaiting_approval"); }));
    EXPECT_EQ(in(folder, {"reject", "AP-1"}).code, 0);
    in(folder, {"wait", "TR-2"});
    return folder;
  }
  void expect_moved(const fs::path& folder) const {
    EXPECT_FALSE(fs::exists(state_of(folder)));
    const std::string run = in(folder, {"show", "TR-2"}).out;
    EXPECT_THAT(run, AllOf(HasSubstr("own/TR-1"), HasSubstr(folder.string()), HasSubstr("status\tcompleted")));
    EXPECT_EQ(in(folder, {"logs", "TR-2"}).out, "kept words\n");
    EXPECT_THAT(in(folder, {"show", "AP-1"}).out, AllOf(HasSubstr("status\trejected"), HasSubstr("TR-3")));
    EXPECT_THAT(in(folder, {"audit", "list"}).out, HasSubstr("imported"));
    EXPECT_EQ(in(folder, {"audit", "verify"}).code, 0);
    EXPECT_EQ(testing::lines_of(in(folder, {"runs"}).out).size(), 3U);
  }
};

TEST_F(StateMove, records_get_new_ids_and_keep_their_output) {
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  const fs::path folder = make_history();
  const Outcome moved = in(folder, {"state", "move", "--yes"});
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(moved.out, "TR-1\tTR-2\nTR-2\tTR-3\nAP-1\tAP-1\n");
  EXPECT_THAT(moved.err, HasSubstr(".reeve/state-moved-"));
  expect_moved(folder);
  EXPECT_EQ(in(folder, {"state", "move", "--yes"}).code, 2) << "there is nothing left to move";
}

TEST_F(StateMove, unfinished_work_is_refused_and_named) {
  const fs::path folder = make_own();
  ask_in(folder);
  const Outcome refused = in(folder, {"state", "move", "--yes"});
  EXPECT_EQ(refused.code, 4) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("TR-1"), HasSubstr("AP-1"), HasSubstr("approvals")));
  EXPECT_TRUE(fs::exists(state_of(folder) / "reeve.db"));
  EXPECT_THAT(in(folder, {"show", "AP-1"}).out, HasSubstr("status\tpending"));
  const fs::path asks = make_project("asks", "state: project\n");
  ASSERT_EQ(in(asks, {"run", "--", "true"}).code, 0);
  EXPECT_THAT(in(asks, {"state", "move", "--yes"}).err, HasSubstr("state: project"));
  EXPECT_EQ(in(folder, {"state", "move"}).code, 4);
}

// All or nothing: after a crash at any point both stores can be used, and a repetition finishes.
TEST_F(StateMove, a_killed_move_is_finished_by_repeating_it) {
  for (const char* point : {"state_move.before_commit", "state_move.after_commit", "state_move.before_rename"}) {
    SCOPED_TRACE(point);
    fs::remove_all(scratch().path() / "own");
    fs::remove_all(home());
    fs::create_directories(home());
    ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
    ASSERT_EQ(in(site(), {"stop"}).code, 0);
    const fs::path folder = make_history();
    {
      testing::Session daemon(launch_in(site(), {"serve"}, {{"REEVE_CRASH_POINT", point}}));
      ASSERT_TRUE(daemon.wait_for_error("listening"));
      in(folder, {"state", "move", "--yes"}, {{"REEVE_NO_INPUT", "1"}});
      daemon.wait();
    }
    if (fs::exists(state_of(folder))) {
      EXPECT_THAT(in(folder, {"show", "TR-1"}).out, HasSubstr("status\tcompleted")) << "the old one can be used";
      EXPECT_EQ(in(site(), {"runs"}).code, 0);
      const Outcome again = in(folder, {"state", "move", "--yes"});
      ASSERT_EQ(again.code, 0) << again.err;
    }
    expect_moved(folder);
    ASSERT_EQ(in(site(), {"stop"}).code, 0);
  }
}

// A database is only read: nothing in it is executed, and no link is followed.
TEST_F(StateMove, a_hostile_folder_changes_nothing) {
  ASSERT_EQ(in(site(), {"run", "--", "true"}).code, 0);
  const fs::path folder = make_history();
  ASSERT_EQ(in(folder, {"stop"}).code, 0);
  const fs::path secret = scratch().write("secret", "top secret");
  fs::create_symlink(secret, state_of(folder) / "runs/TR-1/more");
  EXPECT_EQ(in(folder, {"state", "move", "--yes"}).code, 6) << "a link in a run's folder";
  fs::remove(state_of(folder) / "runs/TR-1/more");
  fs::create_symlink(secret, state_of(folder) / "runs/TR-1/1/deep");
  testing::write_database(state_of(folder) / "reeve.db",
                          "CREATE TRIGGER evil AFTER INSERT ON tool_runs BEGIN DELETE FROM audit_log; END;\n"
                          "CREATE VIEW more AS SELECT * FROM tool_runs;\n"
                          "UPDATE tool_runs SET execution = 77 WHERE number = 1;\n");
  const Outcome damaged = in(folder, {"state", "move", "--yes"});
  EXPECT_NE(damaged.code, 0);
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("import.damaged"), HasSubstr("EX-77")));
  EXPECT_EQ(testing::lines_of(in(site(), {"runs"}).out).size(), 1U) << "all or nothing";
  testing::write_database(state_of(folder) / "reeve.db", "UPDATE tool_runs SET execution = NULL WHERE number = 1;\n");
  EXPECT_EQ(in(folder, {"state", "move", "--yes"}).code, 0);
  expect_moved(folder);
  EXPECT_FALSE(fs::exists(fs::symlink_status(common() / "runs/TR-2/1/deep"))) << "no link is followed or copied";
  const fs::path unknown = make_project("cloned");
  fs::copy(folder / ".reeve", unknown / ".reeve", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(unknown / ".reeve")) {
    if (entry.is_directory()) fs::rename(entry.path(), unknown / ".reeve/state");
  }
  EXPECT_THAT(in(unknown, {"state", "move", "--yes"}).err, HasSubstr("error[state."));
}

}  // namespace
}  // namespace reeve
