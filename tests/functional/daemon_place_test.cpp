#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// State folders that cannot be used: unwritable, full, or another user's. As root the tests use an unprivileged user
// instead, because root bypasses permission checks.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Words;

constexpr unsigned nobody = 65534;
constexpr std::uint64_t mib = 1ULL << 20U;

class DaemonPlace : public testing::DaemonTest {
 protected:
  DaemonPlace() {
    // For a user who cannot access the build folder.
    const fs::path built = fs::path(testing::reeve_binary()).parent_path();
    fs::create_directories(programs());
    for (const char* name : {"reeve", "reeve-keeper", "reeve_zoo"}) fs::copy_file(built / name, programs() / name);
    fs::permissions(scratch().path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }
  fs::path programs() const { return scratch().path() / "programs"; }
  std::string zoo() const { return programs() / "reeve_zoo"; }
  // A folder that the unprivileged user owns.
  fs::path own_folder(const std::string& name) const {
    const fs::path folder = scratch().path() / name;
    fs::create_directories(folder);
    if (::geteuid() == 0) EXPECT_EQ(::chown(folder.c_str(), nobody, nobody), 0);
    return folder;
  }
  // Runs `reeve` as that user with `home` as HOME.
  Outcome unprivileged(const fs::path& home, const Words& words) const {
    testing::Launch start{.argv = {}, .folder = home};
    if (::geteuid() == 0) {
      const std::string id = std::to_string(nobody);
      start.argv = {"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"};
    }
    start.argv.push_back(programs() / "reeve");
    start.argv.insert(start.argv.end(), words.begin(), words.end());
    start.environment = {{"HOME", home.string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
    return testing::run_program(start);
  }
};

// DESIGN: tests run unprivileged as well.
TEST_F(DaemonPlace, works_for_an_unprivileged_user) {
  const fs::path home = own_folder("home-of-nobody");
  const std::string pids = home / "pids";
  Outcome outcome = unprivileged(home, {"run", "--", zoo(), "lines", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "line 000001\nline 000002\nline 000003\n");
  EXPECT_EQ(unprivileged(home, {"run", "--", zoo(), "exit", "7"}).code, 7);
  EXPECT_EQ(unprivileged(home, {"run", "--pty", "--", "sh", "-c", "test -t 0"}).code, 0);
  outcome = unprivileged(home, {"run", "--timeout", "500ms", "--", zoo(), "spawn-children", "5", pids});
  EXPECT_EQ(outcome.code, 124) << outcome.err;
  EXPECT_EQ(unprivileged(home, {"run", "--", zoo(), "double-fork", pids}).code, 0);
  EXPECT_EQ(
      unprivileged(home, {"run", "--no-output-timeout", "1s", "--on-stall", "kill", "--", zoo(), "busy", "3"}).code, 0);
  EXPECT_THAT(testing::find_processes(zoo()), ::testing::IsEmpty());
  EXPECT_EQ(unprivileged(home, {"run", "--cwd", "/root/no", "--", "true"}).code, 126);
  EXPECT_THAT(unprivileged(home, {"logs", "TR-1"}).out, HasSubstr("line 000003\n"));
  EXPECT_TRUE(fs::exists(home / ".local/state/reeve/reeve.db"));
  EXPECT_EQ(unprivileged(home, {"stop"}).code, 0);
}

// §7: 6, with what to do; no hang.
TEST_F(DaemonPlace, unusable_state_folder_is_reported) {
  const fs::path home = own_folder("home-of-nobody");
  const fs::path locked = scratch().path() / "locked";
  fs::create_directories(locked);
  fs::permissions(locked, fs::perms::owner_read | fs::perms::owner_exec);
  for (const std::string& place :
       {(locked / "state").string(), std::string("/proc/state"), std::string("/dev/null/x")}) {
    const Outcome outcome = unprivileged(home, {"run", "--state", place, "--", "true"});
    EXPECT_EQ(outcome.code, 6) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("error[daemon.unavailable]"), HasSubstr("state"))) << place;
    EXPECT_THAT(outcome.err, HasSubstr("--state")) << place;
    EXPECT_LE(testing::count_of(outcome.err, "\n"), 4) << outcome.err;
  }
  // An existing folder of another user.
  const fs::path read_only = ::geteuid() == 0 ? scratch().path() / "read-only" : fs::path("/usr/share");
  fs::create_directories(read_only);
  if (::geteuid() == 0) {
    fs::permissions(read_only,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  }
  const Outcome outcome = unprivileged(home, {"run", "--state", read_only.string(), "--", "true"});
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(read_only.string()));
  fs::permissions(locked, fs::perms::owner_all);
}

// A separate file system for the state folder, visible only to this process and its children.
class FullDisk : public testing::DaemonTest {
 protected:
  bool mount_disk(std::uint64_t bytes) {
    fs::create_directories(state());
    if (!enter_namespace() || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    const std::string size = "mode=700,size=" + std::to_string(bytes);
    is_mounted_ = ::mount("reeve-test", state().c_str(), "tmpfs", 0, size.c_str()) == 0;
    return is_mounted_;
  }
  void TearDown() override {
    testing::DaemonTest::TearDown();
    if (is_mounted_) ::umount2(state().c_str(), MNT_DETACH);
  }
  std::uint64_t free_bytes() const {
    struct statvfs status{};
    EXPECT_EQ(::statvfs(state().c_str(), &status), 0);
    return status.f_bavail * status.f_frsize;
  }
  // A name that a fresh file system may contain, so that the folder still counts as empty.
  fs::path ballast() const { return state() / "lost+found"; }
  void fill(std::uint64_t leave) const {
    const int file = ::open(ballast().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    // The daemon writes concurrently, so there may be less space than a moment ago.
    int error = ENOSPC;
    for (int attempt = 0; error == ENOSPC && attempt < 1'000; ++attempt) {
      const std::uint64_t free = free_bytes();
      if (free <= leave) break;
      error = ::posix_fallocate(file, 0, static_cast<off_t>(free - leave));
    }
    EXPECT_TRUE(error == 0 || free_bytes() <= leave) << error;
    ::close(file);
  }

  // The number of write calls of the process, including failed ones.
  static std::uint64_t count_writes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/io");
    std::uint64_t count = 0;
    for (std::string name; file >> name >> count;) {
      if (name == "syscw:") return count;
    }
    return 0;
  }

 private:
  // An ordinary user can mount in a user namespace without changing identity.
  static bool enter_namespace() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (user == 0) return ::unshare(CLONE_NEWNS) == 0;
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const auto write = [](const char* path, const std::string& text) {
      return static_cast<bool>(std::ofstream(path) << text << std::flush);
    };
    const auto itself = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
    return write("/proc/self/setgroups", "deny") && write("/proc/self/uid_map", itself(user)) &&
           write("/proc/self/gid_map", itself(group));
  }

  bool is_mounted_ = false;
};

// RUN-12: output is never lost: the tool is paused while there is no space, and continues afterwards.
TEST_F(FullDisk, tool_is_paused_until_there_is_space) {
  constexpr int lines = 200'000;
  ASSERT_TRUE(mount_disk(128 * mib)) << std::strerror(errno);
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  fill(16 * mib);
  // 2.4 MB of output, and 38 MB of log.
  const auto client = start(run_words({}, {"lines", std::to_string(lines)}));
  ASSERT_TRUE(client->wait_for("line 000001\n"));
  ASSERT_TRUE(eventually([&] { return free_bytes() < 64 * 1024; }));
  // The daemon still responds.
  EXPECT_EQ(reeve({"show", "TR-2", "--json"}).code, 0);
  fs::remove(ballast());
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(testing::count_of(client->out(), "\n"), lines);
  EXPECT_EQ(show("TR-2")["status"], "completed");
  EXPECT_EQ(testing::count_of(logs("TR-2"), "\n"), lines);
  int logged = 0;
  ASSERT_TRUE(eventually([&] {
    logged = 0;
    for (auto& line : combined_log()) logged += line["event"] == "tool_output" ? 1 : 0;
    return logged >= lines;
  })) << logged;
  EXPECT_EQ(logged, lines);
}

// §7: a clear error, no hang, and no unrecorded run.
TEST_F(FullDisk, run_is_refused_without_space) {
  ASSERT_TRUE(mount_disk(16 * mib)) << std::strerror(errno);
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  fill(0);
  const fs::path effects = project() / "effects";
  const Outcome outcome = run({}, {"effect", effects.string(), "x"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("error["));
  EXPECT_FALSE(fs::exists(effects)) << outcome.err;
  fs::remove(ballast());
  EXPECT_EQ(run({}, {"effect", effects.string(), "y"}).code, 0);
  EXPECT_EQ(testing::lines_of(testing::read_text(effects)).size(), 1U);
  EXPECT_EQ(testing::count_of(reeve({"runs"}).out, "completed"), 2);
}

// §7: a daemon that cannot start reports the reason.
TEST_F(FullDisk, daemon_start_fails_with_a_reason) {
  ASSERT_TRUE(mount_disk(16 * mib)) << std::strerror(errno);
  fill(0);
  const Outcome outcome = reeve({"runs"});
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("error["), HasSubstr("No space left")));
  fs::remove(ballast());
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
}

// RUN-12, RUN-4: the tool exits, and another exceeds its timeout, while there is no space: no output is missing, and
// the limit is enforced.
TEST_F(FullDisk, exit_without_space_loses_nothing) {
  ASSERT_TRUE(mount_disk(64 * mib)) << std::strerror(errno);
  const std::string file = (scratch().path() / "go").string();
  // The keeper is the parent of the tool.
  const testing::Outcome started =
      reeve({"run", "--detach", "--", "sh", "-c",
             "echo keeper $PPID.; " + testing::zoo_binary() + " wait-file " + file +
                 "; for i in 1 2 3 4 5 6 7 8 9; do " + testing::zoo_binary() + " lines 1 --pad 4000; done"});
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "waiting");
  const std::string text = logs("TR-1");
  const pid_t keeper = std::stoi(text.substr(text.find("keeper ") + 7));
  const testing::Outcome late =
      reeve({"run", "--detach", "--timeout", "2", "--", testing::zoo_binary(), "silent", "1000"});
  ASSERT_EQ(late.code, 0) << late.err;
  fill(0);
  std::ofstream(file) << "x";
  ASSERT_TRUE(eventually([&] {
    return std::ranges::none_of(tools(), [](const auto& process) { return process.command.contains("wait-file"); });
  }));
  // The keeper retries five times a second: this takes longer than its wait for the rest of a tool that has exited, and
  // longer than the other run's timeout.
  const std::uint64_t written = count_writes(keeper);
  ASSERT_GT(written, 0U);
  ASSERT_TRUE(eventually([&] { return count_writes(keeper) >= written + 15; }));
  EXPECT_EQ(show("TR-1").at("status"), "running");
  fs::remove(ballast());
  EXPECT_EQ(finish("TR-1").at("status"), "completed");
  EXPECT_EQ(testing::count_of(logs("TR-1"), "line 000001"), 9);
  EXPECT_EQ(finish("TR-2").at("status"), "failed_timeout");
}

}  // namespace
}  // namespace reeve
