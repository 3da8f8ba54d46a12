#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "git/repository.h"
#include "tests/support/git_repository.h"

namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

// ISO-1: the process that works in the repository may die at any moment, and its git may run on for a while. The next
// process repeats the request.
TEST(GitKill, worktree_recovers_after_a_kill_at_any_moment) {
  const GitRepository made;
  for (int file = 0; file < 200; ++file) made.write("many/" + std::to_string(file), std::to_string(file));
  const std::string first = made.commit("many");
  const fs::path folder = made.root() / ".worktrees" / "EX-9";
  base::SeededRandom random(17);
  for (int round = 0; round < 8; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        Repository repository = *Repository::find(made.root(), made.beside("scratch"));
        while (true) {
          repository.remove_worktree(folder);
          repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
          made.write(folder / "many/0", "changed\n");
          repository.snapshot(folder, first, "work");
          repository.reset(folder, first, "reeve/EX-9");
        }
      } catch (const base::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      ::_exit(1);
    }
    const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(random.below(250'000'000))};
    ::nanosleep(&time, nullptr);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));

    Repository repository = *Repository::find(made.root(), made.beside("scratch"));
    repository.remove_worktree(folder);
    repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
    ASSERT_EQ(made.git_in(folder, {"status", "--porcelain", "--branch"}), "## reeve/EX-9") << round;
    ASSERT_FALSE(repository.snapshot(folder, first, "nothing")) << round;
    ASSERT_EQ(repository.list_worktrees().size(), 1) << round;
    ASSERT_TRUE(repository.list_worktrees()[0].is_ready);
  }
}

// While this exists, a program `git` in front of the real one replaces one command.
class Wrapper {
 public:
  Wrapper(const GitRepository& made, const std::string& command, const std::string& instead)
      : before_(std::getenv("PATH")) {
    const fs::path folder = made.beside("wrapper");
    fs::create_directories(folder);
    std::ofstream(folder / "git") << "#!/bin/sh\nPATH='" << before_ << "'\nfor word; do\n  [ \"$word\" = '" << command
                                  << "' ] || continue\n  " << instead << "\ndone\nexec git \"$@\"\n";
    fs::permissions(folder / "git", fs::perms::owner_all);
    ::setenv("PATH", (folder.string() + ":" + before_).c_str(), 1);
  }
  ~Wrapper() { ::setenv("PATH", before_.c_str(), 1); }
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

 private:
  std::string before_;
};

class GitKilledForward : public ::testing::Test {
 protected:
  GitKilledForward() {
    for (int file = 0; file < files; ++file) made.write("many/" + std::to_string(file), "old\n");
    made.write("leaves", "old\n");
    made.write("becomes/a/folder", "old\n");
    first = made.commit("first");
    for (int file = 0; file < files; ++file) made.write("many/" + std::to_string(file), "new and longer\n");
    for (int file = 0; file < files; ++file) made.write("new/" + std::to_string(file), "new\n");
    fs::remove(made.root() / "leaves");
    fs::remove_all(made.root() / "becomes");
    made.write("becomes", "a file\n");
    second = made.commit("second");
    made.git({"reset", "-q", "--hard", first});
  }
  // Simulates a daemon that is killed with its git once that has begun to write: the files stay as they are then.
  void kill_within(const std::string& files_so_far) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        // $PPID is the calling process.
        const Wrapper wrapper(made, "read-tree",
                              "cd '" + made.root().string() + "'; " + files_so_far + "; kill -9 $PPID; kill -9 $$");
        Repository repository = *Repository::find(made.root(), made.beside("scratch"));
        repository.fast_forward(second);
      } catch (const base::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_NE(made.git({"status", "--porcelain"}), "");
  }

  static constexpr int files = 40;
  GitRepository made;
  std::string first;
  std::string second;
};

constexpr const char* half_written =
    "printf 'new and longer\\n' > many/0; rm many/1; printf 'new and' > many/2; : > many/3; rm leaves; mkdir new; "
    "echo new > new/0; printf n > new/1; rm -r becomes; echo 'a file' > becomes";

// ISO-3: a kill while the files are written leaves a checkout that matches neither commit: the next process reverts it,
// and the same apply succeeds.
TEST_F(GitKilledForward, half_written_checkout_is_rolled_back) {
  kill_within(half_written);
  const auto half_done = Repository::list_half_done(made.beside("scratch"));
  ASSERT_EQ(half_done.size(), 1U);
  EXPECT_EQ(half_done[0], made.root());
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  EXPECT_TRUE(repository.recover_checkout());
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_EQ(repository.get_head(), first);
  EXPECT_FALSE(fs::exists(made.root() / "new"));
  EXPECT_FALSE(fs::exists(made.root() / ".git/index.lock"));
  EXPECT_FALSE(repository.recover_checkout());
  EXPECT_TRUE(Repository::list_half_done(made.beside("scratch")).empty());
  repository.fast_forward(second);
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_EQ(repository.get_head(), second);
}

// Changes that a user made in the meantime are kept.
TEST_F(GitKilledForward, recovery_keeps_later_changes) {
  kill_within(half_written);
  made.write("many/2", "mine\n");
  made.write("new/1", "mine too\n");
  made.write("many/17", "mine as well\n");
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  EXPECT_TRUE(repository.recover_checkout());
  EXPECT_EQ(made.git({"status", "--porcelain", "-uall"}), " M many/17\n M many/2\n?? new/1");
  EXPECT_EQ(made.read("many/2"), "mine\n");
  EXPECT_EQ(made.read("new/1"), "mine too\n");
}

// Files and index are updated, the branch is not: only that is left to do.
TEST_F(GitKilledForward, completes_when_only_the_branch_update_is_missing) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Wrapper wrapper(made, "update-ref", "kill -9 $PPID; kill -9 $$");
    try {
      Repository repository = *Repository::find(made.root(), made.beside("scratch"));
      repository.fast_forward(second);
    } catch (const base::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  // Also if a user has worked there since.
  made.write("many/0", "mine\n");
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  EXPECT_TRUE(repository.recover_checkout());
  EXPECT_EQ(repository.get_head(), second);
  EXPECT_EQ(made.git({"status", "--porcelain"}), " M many/0");
}

// The real git, killed at any moment while its daemon runs: its work is reverted at once.
TEST_F(GitKilledForward, killed_git_leaves_the_checkout_unchanged) {
  base::SeededRandom random(17);
  for (int round = 0; round < 6; ++round) {
    Repository repository = *Repository::find(made.root(), made.beside("scratch"));
    {
      const std::string pause = "0.0" + std::to_string(10 + random.below(30));
      const Wrapper wrapper(made, "read-tree", "git \"$@\" & sleep " + pause + "; kill -9 $! $$");
      EXPECT_THROW(repository.fast_forward(second), base::Error);
    }
    ASSERT_EQ(made.git({"status", "--porcelain"}), "") << round;
    ASSERT_EQ(repository.get_head(), first) << round;
    ASSERT_FALSE(fs::exists(made.root() / ".git/index.lock")) << round;
  }
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  repository.fast_forward(second);
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
}

}  // namespace
}  // namespace reeve::git
