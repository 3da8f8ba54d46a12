#include <csignal>

#include "json/encode.h"
#include "os/lock.h"
#include "os/spawn.h"
#include "store/approvals.h"
#include "tests/store/isolation_fixture.h"

// Tasks and setups that misbehave.
namespace reeve::runtime {
namespace {

using model::PatchState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;

// ISO-5: nothing is read through a symlink, and the next attempt has a worktree again.
TEST_F(IsolationTest, worktree_replaced_by_a_symlink_is_recreated) {
  const fs::path folder = prepare(at("one"));
  const fs::path moved = made_.beside("moved");
  fs::rename(folder, moved);
  write_text(moved / "foreign", "foreign\n");
  fs::create_directory_symlink(moved, folder);
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "the task failed");
  EXPECT_EQ(count_patches(), 0U);
  const fs::path again = prepare(at("one", 2));
  EXPECT_EQ(again, folder);
  EXPECT_FALSE(fs::is_symlink(again));
  EXPECT_FALSE(fs::exists(again / "foreign"));
  EXPECT_TRUE(fs::exists(moved / "foreign"));
  write_text(again / "mine", "mine\n");
  EXPECT_TRUE(git_->nodes.collect(settings_, at("one", 2)).patch);
  // The same at the close, and where an older attempt is evicted.
  fs::rename(folder, made_.beside("again"));
  fs::create_directory_symlink(moved, folder);
  EXPECT_EQ(prepare(at("one", 3)), folder);
  fs::remove_all(folder);
  fs::create_directory_symlink(moved, folder);
  git_->cleanup.close(root_);
  EXPECT_FALSE(fs::is_symlink(folder));
  EXPECT_TRUE(fs::exists(moved / "foreign"));
}

// ISO-3: only the commit that was shown goes into the checkout, whatever a ref that tasks can write says.
TEST_F(IsolationTest, a_commit_that_a_task_has_planted_is_not_applied) {
  work("one", "one.txt", "1\n");
  write_text(prepare(at("two")) / "evil.txt", "evil\n");
  git_->nodes.collect(settings_, at("two"));
  const std::string refs = "refs/reeve/" + root_.text() + "/apply-";
  made_.git({"update-ref", refs + "PA-1", patch(2).commit});
  act(base::PatchId(1), Isolation::PatchAction::apply, "ana");
  EXPECT_TRUE(fs::exists(made_.root() / "one.txt"));
  EXPECT_FALSE(fs::exists(made_.root() / "evil.txt"));
  // Nor does such a ref prove that it was applied.
  act(base::PatchId(1), Isolation::PatchAction::rollback, "ana");
  work("three", "three.txt", "3\n");
  made_.git({"update-ref", refs + made_.git({"rev-parse", branch()}), made_.git({"rev-parse", "HEAD"})});
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::applied);
  EXPECT_TRUE(fs::exists(made_.root() / "three.txt"));
  EXPECT_FALSE(fs::exists(made_.root() / "evil.txt"));
}

TEST_F(IsolationTest, removed_worktree_is_recreated) {
  fs::remove_all(prepare(at("one")));
  git_->nodes.accept(settings_, at("one"));
  const fs::path next = prepare(at("two"));
  EXPECT_TRUE(fs::exists(next / "file.txt"));
  made_.git({"worktree", "remove", "-f", "-f", next.string()});
  EXPECT_TRUE(fs::exists(prepare(at("two")) / "file.txt")) << "also for the one who has it";
}

// LOG-4: the output of a setup is part of an error that is stored and shown.
TEST_F(IsolationTest, setup_error_shows_no_secrets) {
  settings_.environment["API_TOKEN"] = "hush-hush-hush";
  settings_.worktree.setup = {{"sh", "-c", "echo token $API_TOKEN is wrong; exit 3", "hush-hush-hush"}};
  try {
    prepare_worktree(*git_, settings_, at("one"));
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("token *** is wrong"));
    EXPECT_THAT(error.message(), Not(HasSubstr("hush")));
  }
}

// LOG-4: the diff is stored and shown without them; git keeps the original text.
TEST_F(IsolationTest, a_diff_shows_no_secrets) {
  settings_.environment["API_TOKEN"] = "hush-hush-hush";
  work("one", "config", "token: hush-hush-hush\n");
  EXPECT_THAT(patch(1).diff, HasSubstr("+token: ***"));
  EXPECT_EQ(show("config"), "token: hush-hush-hush");
  const auto asked = git_->applies.apply(root_, model::ApplyWhen::on_approval);
  ASSERT_TRUE(asked.approval);
  const auto question = ledger_->call(
      [&](ledger::Transaction& transaction) { return store::find_approval(transaction.session(), *asked.approval); });
  const std::string arguments = json::encode(question->approval.arguments.value());
  EXPECT_THAT(arguments, HasSubstr("+token: ***"));
  EXPECT_THAT(arguments, Not(HasSubstr("hush")));
  // When the secrets are no longer known, the diff is not shown.
  write_text(prepare(at("two")) / "late", "hush-hush-hush\n");
  begin_anew();
  git_->cleanup.close(root_);
  EXPECT_EQ(show("config"), "token: hush-hush-hush");
  EXPECT_THAT(patch(2).diff, HasSubstr("not shown"));
}

// LOG-4: a file that was only copied in never gets into the branch, whatever the task did to it.
TEST_F(IsolationTest, changed_copied_file_is_not_in_the_patch) {
  made_.write(".env", "SECRET=1\n");
  made_.write("notes.txt", "notes\n");
  settings_.worktree.copy = {".env", "notes.txt"};
  const fs::path folder = prepare(at("one"));
  write_text(folder / ".env", "SECRET=1\nMORE=2\n");
  write_text(folder / "mine", "mine\n");
  write_text(folder / "file.txt", "changed\n");
  fs::remove(folder / "folder/inner.txt");
  const auto collected = git_->nodes.collect(settings_, at("one"));
  std::vector<std::string> paths;
  for (const model::PatchFile& file : collected.files) paths.push_back(file.path);
  EXPECT_THAT(paths, ElementsAre("file.txt", "folder/inner.txt", "mine"));
  EXPECT_THAT(collected.left_out, ElementsAre(".env")) << "and that is told";
  EXPECT_THAT(patch(1).diff, Not(HasSubstr("SECRET")));
  git_->nodes.accept(settings_, at("one"));
  EXPECT_EQ(made_.git({"ls-tree", "-r", "--name-only", branch()}), ".gitignore\nfile.txt\nmine");
  EXPECT_EQ(show("file.txt"), "changed");
  // No other change: no patch.
  write_text(prepare(at("two")) / ".env", "SECRET=2\n");
  const auto only = git_->nodes.collect(settings_, at("two"));
  EXPECT_FALSE(only.patch && only.commit);
  EXPECT_THAT(only.left_out, ElementsAre(".env"));
  EXPECT_THAT(git_->nodes.collect(settings_, at("two")).left_out, ElementsAre(".env")) << "asked again, the same";
}

// After a kill -9 of the daemon its setups survive: all of them end before the next one uses a worktree.
TEST_F(IsolationTest, setups_that_outlived_their_daemon_are_ended) {
  const auto locks = made_.beside("scratch") / "setups";
  fs::create_directories(locks);
  std::vector<os::Process> orphans;
  for (const char* name : {"EX-1", "EX-7.2"}) {
    auto held = os::FileLock::try_take((locks / name).string());
    ASSERT_TRUE(held);
    auto orphan = os::spawn(
        {.argv = {"sh", "-c", "sleep 600 & wait"}, .environment = {"PATH=/usr/bin:/bin"}, .input = held->file().get()});
    ASSERT_TRUE(orphan);
    orphans.push_back(std::move(*orphan));
  }
  settings_.worktree.setup = {{"touch", "it.log"}};
  EXPECT_TRUE(fs::exists(prepare(at("one")) / "it.log"));
  for (os::Process& orphan : orphans) EXPECT_EQ(orphan.wait().signal, SIGKILL);
  git_->nodes.reject(settings_, at("one"), model::PatchState::quarantined, "over");
  git_->cleanup.close(root_);
  EXPECT_TRUE(fs::is_empty(locks)) << "nothing is left of them";
}

// The branch may move while a worktree is set up: the task's change is relative to what it was given.
TEST_F(IsolationTest, branch_that_moves_during_the_setup_is_merged) {
  settings_.worktree.setup = {{"sh", "-c", "echo setup > made-by-setup"}};
  const auto begun = git_->nodes.begin_prepare(settings_, at("slow"));
  ASSERT_TRUE(begun && begun->setup);
  work("fast", "fast", "fast\n");
  set_up_worktree(*begun->setup, [] { return false; });
  const fs::path folder = git_->nodes.finish_prepare(settings_, at("slow"));
  EXPECT_FALSE(fs::exists(folder / "fast"));
  write_text(folder / "slow", "slow\n");
  EXPECT_THAT(git_->nodes.collect(settings_, at("slow")).files, ::testing::SizeIs(1));
  EXPECT_FALSE(git_->nodes.accept(settings_, at("slow")).is_conflict);
  EXPECT_EQ(made_.git({"ls-tree", "-r", "--name-only", branch()}),
            ".gitignore\nfast\nfile.txt\nfolder/inner.txt\nslow");
}

}  // namespace
}  // namespace reeve::runtime
