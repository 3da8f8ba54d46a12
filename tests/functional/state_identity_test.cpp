#include <filesystem>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// SPEC §7: files that came with a clone are data. A state folder is used only if Reeve created it for this user, or the
// user has accepted it.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

class StateIdentity : public testing::DaemonTest {
 protected:
  fs::path registry() const { return scratch().path() / "home/.local/state/reeve/known"; }
  void stop() const { ASSERT_EQ(reeve({"stop"}).code, 0); }
  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const bool is_file = entry.is_regular_file() && !entry.is_symlink();
      found[entry.path().string()] = is_file ? testing::read_text(entry.path()) : "";
    }
    return found;
  }
  // Every read and every start is refused alike, and nothing changes.
  void expect_refused(const std::string& code, const std::string& words) const {
    const auto before = contents(project());
    for (const testing::Words& command : {testing::Words{"runs"}, {"show", "TR-1"}, {"run", "--", "true"}}) {
      const Outcome outcome = reeve(command);
      EXPECT_EQ(outcome.code, 6) << outcome.err;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr("error[" + code + "]"), HasSubstr(words))) << command.front();
    }
    EXPECT_TRUE(testing::eventually([&] { return processes().empty(); })) << "something was started";
    EXPECT_EQ(contents(project()), before);
    const Outcome served = reeve({"serve"});
    EXPECT_NE(served.code, 0);
    EXPECT_THAT(served.err, HasSubstr(code));
  }
};

TEST_F(StateIdentity, a_new_folder_is_private_ignored_by_git_and_registered) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  struct stat status{};
  ASSERT_EQ(::stat(state().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(testing::read_text(state() / ".gitignore"), "*\n");
  const std::string id = testing::read_text(state() / "id").substr(0, 32);
  EXPECT_TRUE(fs::exists(registry() / id));
  ASSERT_EQ(::stat(registry().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(StateIdentity, an_empty_folder_becomes_a_state_folder) {
  fs::create_directories(state());
  fs::permissions(state(), fs::perms::all);
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(fs::status(state()).permissions(), fs::perms::owner_all);
}

TEST_F(StateIdentity, state_folder_from_a_clone_is_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  // As in a fresh clone: this user has never registered it.
  fs::remove_all(registry());
  expect_refused("state.unknown", "reeve state adopt " + state().string());
  fs::remove(state() / "id");
  expect_refused("state.unknown", "reeve state adopt " + state().string());
}

TEST_F(StateIdentity, unregistered_id_is_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  std::ofstream(state() / "id") << "0123456789abcdef0123456789abcdef\n";
  expect_refused("state.unknown", "reeve state adopt");
}

TEST_F(StateIdentity, symlinked_folder_is_refused) {
  const fs::path other = scratch().path() / "other";
  ASSERT_EQ(reeve({"run", "--state", other.string(), "--", "true"}).code, 0);
  fs::create_directory_symlink(other, state());
  for (const char* command : {"runs", "stop"}) {
    const Outcome outcome = reeve({command});
    EXPECT_EQ(outcome.code, 6);
    EXPECT_THAT(outcome.err, HasSubstr("state.link")) << command;
  }
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("state folder\tfail\t"));
  EXPECT_EQ(reeve({"stop", "--state", other.string()}).code, 0);
  fs::remove(state());
}

TEST_F(StateIdentity, folder_accessible_to_others_is_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  fs::permissions(state(), fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  expect_refused("state.not_private", "chmod 700 " + state().string());
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("chmod 700 " + state().string()));
}

TEST_F(StateIdentity, folder_of_another_user_is_refused) {
  if (::geteuid() != 0) {
    EXPECT_THAT(reeve({"runs", "--state", "/usr"}).err, HasSubstr("state.not_yours"));
    return;
  }
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  ASSERT_EQ(::chown(state().c_str(), 65534, 65534), 0);
  expect_refused("state.not_yours", "belongs to");
  ASSERT_EQ(::chown(state().c_str(), 0, 0), 0);
}

TEST_F(StateIdentity, symlinks_inside_are_refused_and_not_followed) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  const fs::path victim = scratch().path() / "victim";
  fs::create_directories(victim);
  std::ofstream(victim / "bashrc") << "mine\n";
  for (const char* name : {"logs/combined.log", "logs/daemon.log", "http.token", "reeve.db", "reeve.db-wal", "runs",
                           "keepers", "executions", "runs/TR-9", "notify.json.draft", "reeve.lock"}) {
    const fs::path path = state() / name;
    const fs::path kept = scratch().path() / "kept";
    const bool was_there = fs::exists(path);
    if (was_there) fs::rename(path, kept);
    const bool is_file = fs::path(name).has_extension();
    fs::create_symlink(is_file ? victim / "bashrc" : victim, path);
    for (const char* command : {"runs", "serve"}) {
      const Outcome outcome = reeve({command});
      EXPECT_NE(outcome.code, 0) << name;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr("state.link_inside"), HasSubstr(path.string()))) << name;
    }
    EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("is a symlink")) << name;
    EXPECT_TRUE(testing::eventually([&] { return processes().empty(); })) << name;
    fs::remove(path);
    if (was_there) fs::rename(kept, path);
  }
  EXPECT_EQ(contents(victim), (std::map<std::string, std::string>{{(victim / "bashrc").string(), "mine\n"}}));
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
}

// SPEC 7: whatever is wrong with the state folder, the other checks are shown.
TEST_F(StateIdentity, doctor_shows_every_check_when_the_lock_is_a_symlink) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  const fs::path lock = state() / "reeve.lock";
  const fs::path kept = scratch().path() / "kept";
  if (fs::exists(lock)) fs::rename(lock, kept);
  fs::create_symlink(scratch().write("victim", "mine\n"), lock);
  const Outcome outcome = reeve({"doctor"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("state folder\tfail\t"), HasSubstr("daemon\tfail\t"),
                                 HasSubstr("keeper\tok\t"), HasSubstr("terminals\t")));
  fs::remove(lock);
  if (fs::exists(kept)) fs::rename(kept, lock);
}

TEST_F(StateIdentity, adoption_shows_what_is_pending) {
  const testing::Words ask = {"run", "--detach",
                              "--",  "sh",
                              "-c",  R"(echo '{"event":"approval_needed","question":"Shall I go on?"}'; sleep 1000)"};
  ASSERT_EQ(reeve(ask).code, 0);
  wait_for_status("TR-1", "waiting_approval");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  fs::remove_all(registry());
  const Outcome unasked = reeve({"state", "adopt", state().string()});
  EXPECT_EQ(unasked.code, 2) << unasked.err;
  EXPECT_THAT(unasked.err, AllOf(HasSubstr("1 run, 0 executions and 1 approval"), HasSubstr("Shall I go on?"),
                                 HasSubstr("TR-1"), HasSubstr("--yes")));
  EXPECT_EQ(reeve({"runs"}).code, 6);
  const Outcome inside = reeve({"state", "adopt", state().string(), "--yes"}, {{"REEVE_RUN_ID", "TR-1"}});
  EXPECT_EQ(inside.code, 5) << inside.err;
  const Outcome adopted = reeve({"state", "adopt", state().string(), "--yes"});
  EXPECT_EQ(adopted.code, 0) << adopted.err;
  EXPECT_THAT(reeve({"show", "TR-1"}).out, HasSubstr("waiting"));
  EXPECT_THAT(reeve({"state", "adopt", state().string(), "--yes"}).err, HasSubstr("daemon.already_running"));
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
  finish("TR-1");
  EXPECT_THAT(reeve({"state", "adopt", project().string(), "--yes"}).err, HasSubstr("is not a Reeve state folder"));
}

TEST_F(StateIdentity, moved_or_restored_folder_asks) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  const fs::path moved = scratch().path() / "moved";
  fs::rename(state(), moved);
  const Outcome elsewhere = reeve({"runs", "--state", moved.string()});
  EXPECT_EQ(elsewhere.code, 6);
  EXPECT_THAT(elsewhere.err, AllOf(HasSubstr("state.moved"), HasSubstr("moved or copied?"), HasSubstr(state().string()),
                                   HasSubstr("reeve project moved " + moved.string())));
  EXPECT_THAT(reeve({"state", "adopt", moved.string(), "--yes"}).err, HasSubstr("state.moved"));
  // Another folder under the same name.
  fs::copy(moved, state(), fs::copy_options::recursive | fs::copy_options::skip_symlinks);
  fs::permissions(state(), fs::perms::owner_all);
  expect_refused("state.moved", "restored or copied?");
}

TEST_F(StateIdentity, missing_database_is_not_replaced_silently) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  fs::remove(state() / "reeve.db");
  const Outcome outcome = reeve({"runs"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("state.database_missing"), HasSubstr("reeve state adopt")));
  EXPECT_FALSE(fs::exists(state() / "reeve.db"));
  EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("reeve.db` is missing"));
  // The user may start over; leftovers of the old runs are kept apart from the new ones.
  const Outcome adopted = reeve({"state", "adopt", state().string(), "--yes"});
  ASSERT_EQ(adopted.code, 0) << adopted.err;
  EXPECT_FALSE(fs::exists(state() / "runs"));
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
}

TEST_F(StateIdentity, a_removed_folder_begins_empty_with_a_note) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  fs::remove_all(state());
  const Outcome outcome = reeve({"runs"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("was removed"));
  EXPECT_THAT(reeve({"runs"}).err, Not(HasSubstr("was removed")));
}

TEST_F(StateIdentity, symlinked_or_open_registry_is_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  stop();
  fs::permissions(registry(), fs::perms::all);
  EXPECT_THAT(reeve({"runs"}).err, HasSubstr("state.registry"));
  fs::permissions(registry(), fs::perms::owner_all);
  const fs::path other = scratch().path() / "other-registry";
  fs::rename(registry(), other);
  fs::create_directory_symlink(other, registry());
  EXPECT_THAT(reeve({"runs"}).err, HasSubstr("state.registry"));
}

}  // namespace
}  // namespace reeve
