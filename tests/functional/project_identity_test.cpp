#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// SPEC §7: Reeve never acts on the original on behalf of a copy. A project or state folder that turns up at another
// path is used only after the user has said what it is.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

class ProjectIdentity : public testing::DaemonTest {
 protected:
  fs::path other() const { return scratch().path() / "other"; }
  void make_repository() const {
    const Outcome made = testing::run_program({.argv = {"/usr/bin/git", "init", "-q", project().string()},
                                               .environment = {{"HOME", (scratch().path() / "home").string()}}});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  void stop() const { ASSERT_EQ(reeve({"stop"}).code, 0); }
  void copy() const {
    const Outcome copied =
        testing::run_program({.argv = {"/bin/cp", "-a", project().string(), other().string()}, .environment = {}});
    ASSERT_EQ(copied.code, 0) << copied.err;
  }
  // Runs `reeve` in that project with that state folder.
  Outcome there(const fs::path& folder, const testing::Words& words, const fs::path& state_folder) const {
    testing::Launch start = launch(words);
    start.folder = folder;
    for (auto& [name, value] : start.environment) {
      if (name == "REEVE_STATE") value = state_folder.string();
    }
    return testing::run_program(start);
  }
  Outcome there(const testing::Words& words) const { return there(other(), words, other() / ".reeve/state"); }
};

TEST_F(ProjectIdentity, start_assigns_a_project_id_and_a_listing_does_not) {
  make_repository();
  const fs::path id = project() / ".git/reeve-id";
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_FALSE(fs::exists(id));
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  const std::string first = testing::read_text(id);
  EXPECT_EQ(first.size(), 33U);
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(testing::read_text(id), first);
  EXPECT_FALSE(fs::exists(project() / ".reeve/id"));
}

// An id that came with an archive means nothing.
TEST_F(ProjectIdentity, unregistered_id_is_replaced) {
  scratch().write("project/.reeve/id", "0123456789abcdef0123456789abcdef\n");
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_THAT(testing::read_text(project() / ".reeve/id"), Not(HasSubstr("0123456789abcdef0123456789abcdef")));
}

// Sandboxes of agents leave such folders behind, for example in /tmp.
TEST_F(ProjectIdentity, an_empty_git_folder_is_not_a_repository) {
  fs::create_directory(scratch().path() / ".git");
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_TRUE(fs::exists(project() / ".reeve/id"));
  EXPECT_TRUE(fs::is_empty(scratch().path() / ".git"));
}

TEST_F(ProjectIdentity, copy_starts_nothing_until_the_user_confirms) {
  make_repository();
  const fs::path shared = scratch().path() / "shared";
  ASSERT_EQ(there(project(), {"run", "--", "true"}, shared).code, 0);
  copy();
  const Outcome started = there(other(), {"run", "--", "true"}, shared);
  EXPECT_EQ(started.code, 4) << started.err;
  EXPECT_THAT(started.err, AllOf(HasSubstr("project.moved"), HasSubstr(project().string()),
                                 HasSubstr("reeve project copied " + other().string())));
  EXPECT_EQ(there(other(), {"runs"}, shared).code, 0);
  const Outcome moved = there(other(), {"project", "moved", other().string()}, shared);
  EXPECT_EQ(moved.code, 1) << moved.err;
  EXPECT_THAT(moved.err, HasSubstr("still exists"));
  EXPECT_EQ(there(other(), {"project", "copied", other().string()}, shared).code, 0);
  EXPECT_EQ(there(other(), {"run", "--", "true"}, shared).code, 0);
  EXPECT_EQ(there(project(), {"run", "--", "true"}, shared).code, 0);
  EXPECT_EQ(there(project(), {"stop"}, shared).code, 0);
}

TEST_F(ProjectIdentity, a_moved_project_keeps_its_runs) {
  make_repository();
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  stop();
  fs::rename(project(), other());
  const Outcome refused = there({"runs"});
  EXPECT_EQ(refused.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("reeve project moved " + other().string()));
  EXPECT_EQ(there({"project", "moved", other().string()}).code, 0);
  EXPECT_THAT(there({"show", "TR-1", "--json"}).out, HasSubstr(R"("exit_code":7)"));
  EXPECT_EQ(there({"run", "--", "true"}).code, 0);
  EXPECT_EQ(there({"stop"}).code, 0);
  fs::create_directories(project() / ".reeve");
}

TEST_F(ProjectIdentity, copied_state_folder_starts_empty_and_keeps_the_original) {
  const std::string id = detach({}, {"wait-file", (scratch().path() / "go").string()});
  wait_for_output(id, "waiting");
  copy();
  EXPECT_THAT(there({"runs"}).err, AllOf(HasSubstr("state.moved"), HasSubstr("moved or copied?")));
  EXPECT_EQ(there({"project", "moved", other().string()}).code, 1);
  const Outcome inside = testing::run_program([&] {
    testing::Launch start = launch({"project", "copied", other().string()}, {{"REEVE_RUN_ID", "TR-1"}});
    return start;
  }());
  EXPECT_EQ(inside.code, 5) << inside.err;
  const Outcome copied = there({"project", "copied", other().string()});
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_THAT(copied.err, HasSubstr("before-"));
  EXPECT_THAT(there({"runs", "--json"}).out, HasSubstr("[]"));
  EXPECT_EQ(there({"run", "--", "true"}).code, 0);
  EXPECT_EQ(there({"stop"}).code, 0);
  // The original's run is not affected.
  EXPECT_EQ(show(id).at("status"), "running");
  scratch().write("go", "x");
  EXPECT_EQ(finish(id).at("status"), "completed");
}

}  // namespace
}  // namespace reeve
