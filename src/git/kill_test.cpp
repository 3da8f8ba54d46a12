#include <csignal>
#include <ctime>
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

// ISO-1: whoever works in the repository dies at any moment; its git may go on for a while. The next one asks for the
// same again.
TEST(GitKill, a_worktree_is_whole_again_after_a_kill_at_any_moment) {
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

}  // namespace
}  // namespace reeve::git
