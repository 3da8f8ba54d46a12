#include <gmock/gmock.h>

#include "tests/store/isolation_fixture.h"

// ISO-1, ISO-4: leftovers of an attempt that was interrupted midway.
namespace reeve::runtime {
namespace {

using model::PatchState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;

class IsolationLost : public IsolationTest {};

TEST_F(IsolationLost, interrupted_work_is_quarantined_and_the_worktree_reset) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "half.txt", "half\n");
  write_text(folder / "file.txt", "half\n");
  const std::string before = read_text(made_.root() / "file.txt");
  with_crashes([&] { git_->nodes.set_back(settings_, at("one")); });
  EXPECT_FALSE(fs::exists(folder / "half.txt"));
  EXPECT_EQ(read_text(folder / "file.txt"), before);
  EXPECT_EQ(made_.git_in(folder, {"rev-parse", "HEAD"}), *settings_.base_commit);
  EXPECT_EQ(made_.git_in(folder, {"status", "--porcelain"}), "");
  ASSERT_EQ(count_patches(), 1U) << "once, wherever the process died";
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
  EXPECT_EQ(patch(1).node_id, "one (interrupted)");
  EXPECT_THAT(patch(1).diff, HasSubstr("half.txt"));
  // The next attempt has its own patch.
  write_text(folder / "whole.txt", "whole\n");
  const auto collected = git_->nodes.collect(settings_, at("one"));
  ASSERT_TRUE(collected.patch);
  EXPECT_EQ(collected.files.size(), 1U);
  EXPECT_FALSE(git_->nodes.accept(settings_, at("one")).is_conflict);
  EXPECT_EQ(show("whole.txt"), "whole");
  // Interrupted again, it is kept again.
  write_text(prepare(at("two")) / "a", "1\n");
  git_->nodes.set_back(settings_, at("two"));
  write_text(prepare(at("two")) / "b", "1\n");
  git_->nodes.set_back(settings_, at("two"));
  EXPECT_EQ(count_patches(), 4U);
  EXPECT_THAT(patch(4).diff, Not(HasSubstr("b/a")));
}

TEST_F(IsolationLost, unchanged_worktree_leaves_no_patch) {
  prepare(at("one"));
  git_->nodes.set_back(settings_, at("one"));
  git_->nodes.set_back(settings_, at("none"));
  EXPECT_EQ(count_patches(), 0U);
}

// Setup results are restored, in no patch, and in no commit that the agent could push.
TEST_F(IsolationLost, setup_and_copied_files_are_restored) {
  made_.write(".env", "SECRET=1\n");
  made_.write(".git/info/exclude", "");
  settings_.worktree.copy = {".env"};
  const fs::path folder = prepare(at("one"));
  write_text(folder / ".env", "SECRET=2\n");
  write_text(folder / "half.txt", "half\n");
  with_crashes([&] { git_->nodes.set_back(settings_, at("one")); });
  EXPECT_EQ(read_text(folder / ".env"), "SECRET=1\n");
  EXPECT_FALSE(fs::exists(folder / "half.txt"));
  EXPECT_EQ(made_.git_in(folder, {"rev-parse", "HEAD"}), *settings_.base_commit);
  EXPECT_THAT(made_.git_in(folder, {"status", "--porcelain"}), HasSubstr("?? .env"));
  ASSERT_EQ(count_patches(), 1U);
  EXPECT_THAT(patch(1).diff, AllOf(HasSubstr("half.txt"), Not(HasSubstr("SECRET"))));
}

// A gate has sent the task back: the work it judged is not lost.
TEST_F(IsolationLost, collected_work_is_kept) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "a", "1\n");
  git_->nodes.collect(settings_, at("one"));
  write_text(folder / "b", "2\n");
  git_->nodes.set_back(settings_, at("one"));
  EXPECT_TRUE(fs::exists(folder / "a"));
  EXPECT_FALSE(fs::exists(folder / "b"));
  EXPECT_EQ(git_->nodes.collect(settings_, at("one")).files.size(), 1U);
}

// ISO-2: a repeated gate sees its original input.
TEST_F(IsolationLost, gate_checkout_is_recreated_in_place) {
  work("one", "a", "1\n");
  const auto begun = git_->checkouts.make(settings_, at("gate"), std::nullopt, "tests");
  write_text(fs::path(begun.folder) / "dirt", "x\n");
  fs::remove(fs::path(begun.folder) / "a");
  const auto again = git_->checkouts.renew(
      settings_, root_, {.folder = begun.folder + "/sub", .commit = begun.commit, .tree = begun.tree});
  EXPECT_EQ(again.folder, begun.folder);
  EXPECT_FALSE(fs::exists(fs::path(begun.folder) / "dirt"));
  EXPECT_TRUE(fs::exists(fs::path(begun.folder) / "a"));
  EXPECT_EQ(testing::code_of([&] {
              git_->checkouts.renew(settings_, root_, {.folder = worktree(), .commit = begun.commit, .tree = ""});
            }),
            "git.unsafe_folder");
}

}  // namespace
}  // namespace reeve::runtime
