#include <csignal>

#include "tests/store/isolation_fixture.h"

// Tasks and setups that do what nobody expects of them.
namespace reeve::runtime {
namespace {

using model::PatchState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;

// ISO-5: nothing is read through a link, and the next attempt has a worktree again.
TEST_F(IsolationTest, a_worktree_that_became_a_link_is_made_anew) {
  const fs::path folder = prepare(at("one"));
  const fs::path moved = made_.beside("moved");
  fs::rename(folder, moved);
  write_text(moved / "foreign", "foreign\n");
  fs::create_directory_symlink(moved, folder);
  steps_->reject(ground_, at("one"), PatchState::quarantined, "the task failed");
  EXPECT_EQ(count_patches(), 0U);
  const fs::path again = prepare(at("one", 2));
  EXPECT_EQ(again, folder);
  EXPECT_FALSE(fs::is_symlink(again));
  EXPECT_FALSE(fs::exists(again / "foreign"));
  EXPECT_TRUE(fs::exists(moved / "foreign"));
  write_text(again / "mine", "mine\n");
  EXPECT_TRUE(steps_->collect(ground_, at("one", 2)).patch);
  // The same at the end, and where an older attempt is put out.
  fs::rename(folder, made_.beside("again"));
  fs::create_directory_symlink(moved, folder);
  EXPECT_EQ(prepare(at("one", 3)), folder);
  fs::remove_all(folder);
  fs::create_directory_symlink(moved, folder);
  steps_->close(root_);
  EXPECT_FALSE(fs::is_symlink(folder));
  EXPECT_TRUE(fs::exists(moved / "foreign"));
}

TEST_F(IsolationTest, a_worktree_that_was_removed_is_made_anew) {
  fs::remove_all(prepare(at("one")));
  EXPECT_FALSE(steps_->collect(ground_, at("one")).patch);
  steps_->accept(ground_, at("one"));
  const fs::path next = prepare(at("two"));
  EXPECT_TRUE(fs::exists(next / "file.txt"));
  made_.git({"worktree", "remove", "-f", "-f", next.string()});
  EXPECT_TRUE(fs::exists(prepare(at("two")) / "file.txt")) << "also for the one who has it";
}

}  // namespace
}  // namespace reeve::runtime
