#include "base/error.h"
#include "git/checkout_update_journal.h"
#include "runtime/isolation/isolation_names.h"
#include "tests/store/isolation_fixture.h"

// Cleaning up after unusual ends: cancelled, removed, failed, left by another daemon.
namespace reeve::runtime {
namespace {

using model::PatchState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The code of the error that `act` throws.
template <class Act>
std::string code_of(Act act) {
  try {
    act();
  } catch (const base::Error& error) {
    return error.code();
  }
  return "nothing thrown";
}

// ISO-2: the change of a node that is cancelled after it was accepted is removed from the branch.
TEST_F(IsolationTest, change_of_a_cancelled_node_is_reverted_on_the_branch) {
  work("one", "one", "one\n");
  work("two", "two", "two\n");
  git_->nodes.withdraw(settings_, at("one"), "cancelled by a person");
  EXPECT_EQ(patch(1).state, PatchState::rejected);
  EXPECT_EQ(patch(1).history.back().reason, "cancelled by a person");
  EXPECT_EQ(made_.git({"ls-tree", "-r", "--name-only", branch()}), ".gitignore\nfile.txt\nfolder/inner.txt\ntwo");
  // Again, as after a crash: same result.
  const std::string tip = made_.git({"rev-parse", branch()});
  git_->nodes.withdraw(settings_, at("one"), "again");
  EXPECT_EQ(made_.git({"rev-parse", branch()}), tip);
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::applied);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(made_.read("two"), "two\n");
}

// A daemon died between the two steps: the change was not withdrawn.
TEST_F(IsolationTest, cancelled_change_left_by_a_crash_is_reverted_before_an_apply) {
  work("n0", "one", "one\n");
  work("beside", "two", "two\n");
  ledger_.on(root_, engine::CancelRequested{"enough"});
  begin_anew();
  with_crashes([&] {
    EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::applied);
  });
  EXPECT_EQ(patch(1).state, PatchState::rejected);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(made_.read("two"), "two\n");
}

TEST_F(IsolationTest, cancelled_change_left_by_a_crash_is_reverted_at_the_close) {
  work("n0", "one", "one\n");
  work("beside", "two", "two\n");
  ledger_.on(root_, engine::CancelRequested{"enough"});
  begin_anew();
  with_crashes([&] { git_->cleanup.close(root_); });
  EXPECT_EQ(patch(1).state, PatchState::rejected);
  EXPECT_EQ(patch(2).state, PatchState::validated);
  EXPECT_EQ(made_.git({"ls-tree", "-r", "--name-only", branch()}), ".gitignore\nfile.txt\nfolder/inner.txt\ntwo");
}

// A node that failed only because the checkout was not ready keeps its change: `flow retry` continues from there.
TEST_F(IsolationTest, accepted_change_of_a_failed_node_stays) {
  work("one", "one", "one\n");
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "your checkout is not clean");
  EXPECT_EQ(patch(1).state, PatchState::validated);
  EXPECT_EQ(show("one"), "one");
}

// If later changes build on it, reverting it would break them: it stays, with a note.
TEST_F(IsolationTest, cancelled_change_that_others_build_on_stays_with_a_note) {
  work("one", "file.txt", "one\n");
  work("two", "file.txt", "two, in the place of one\n");
  git_->nodes.withdraw(settings_, at("one"), "cancelled");
  EXPECT_EQ(patch(1).state, PatchState::validated);
  EXPECT_THAT(patch(1).history.back().reason.value_or(""), HasSubstr("file.txt"));
  EXPECT_EQ(show("file.txt"), "two, in the place of one");
}

// An accepted change stays accepted: a failed git cleanup fails no task, and the next one gets a worktree.
TEST_F(IsolationTest, git_failure_during_cleanup_fails_no_task) {
  std::vector<std::string> complaints;
  bool is_broken = true;
  git_.emplace(IsolationContext{.ledger = *ledger_,
                                .host = "here",
                                .scratch = made_.beside("scratch"),
                                .log_warning = [&](const std::string& text) { complaints.push_back(text); },
                                .crash_point =
                                    [&](const char* name) {
                                      if (is_broken && std::string_view(name) == "isolation.before_reset") {
                                        throw base::Error(base::ErrorCode::git_failed, "no room on the disk");
                                      }
                                    }});
  work("one", "one", "one\n");
  EXPECT_EQ(patch(1).state, PatchState::validated);
  EXPECT_THAT(complaints, ElementsAre(HasSubstr("no room on the disk")));
  is_broken = false;
  EXPECT_TRUE(fs::exists(prepare(at("two")) / "one"));
}

// A task that removed its own folder must not count as unchanged.
TEST_F(IsolationTest, missing_worktree_is_reported) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "one", "one\n");
  fs::remove_all(folder);
  EXPECT_EQ(code_of([&] { git_->nodes.collect(settings_, at("one")); }), "git.worktree_gone");
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "its worktree is gone");
  EXPECT_TRUE(fs::exists(prepare(at("one", 2)) / "file.txt"));
}

// ISO-1: git stores only the commit hash of a submodule, whose commit would be lost with the worktree.
TEST_F(IsolationTest, a_submodule_at_another_commit_is_refused) {
  made_.git({"update-index", "--add", "--cacheinfo", "160000," + *settings_.base_commit + ",sub"});
  made_.git({"commit", "-q", "-m", "a submodule"});
  settings_.base_commit = made_.git({"rev-parse", "HEAD"});
  const fs::path folder = prepare(at("one"));
  made_.git_in(folder / "sub", {"init", "-q", "."});
  write_text(folder / "sub/inner", "inner\n");
  made_.git_in(folder / "sub", {"add", "."});
  made_.git_in(folder / "sub", {"commit", "-q", "-m", "inner"});
  EXPECT_EQ(code_of([&] { git_->nodes.collect(settings_, at("one")); }), "git.submodule_changed");
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "refused");
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
}

// `reeve` and `reeve/EX-9` cannot both be branches.
TEST_F(IsolationTest, branch_that_blocks_all_names_is_reported_before_the_start) {
  made_.git({"branch", "reeve"});
  EXPECT_EQ(code_of([&] { survey_project(git_->context, settings_.project); }), "git.branch_in_use");
  made_.git({"branch", "-m", "reeve", "mine"});
  EXPECT_TRUE(survey_project(git_->context, settings_.project).base_commit);
}

// ISO-1: a user may work in a linked worktree, and have the execution's branch checked out in the main one.
TEST_F(IsolationTest, branch_checked_out_in_the_main_checkout_is_left_alone) {
  const fs::path linked = made_.beside("linked");
  made_.git({"worktree", "add", "-q", "-b", "other", linked.string()});
  settings_.project = fs::canonical(linked).string();
  work("one", "one", "one\n");
  made_.git({"checkout", "-q", branch()});
  write_text(prepare(at("two")) / "two", "two\n");
  git_->nodes.collect(settings_, at("two"));
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("two")); }), "git.branch_in_use");
  made_.git({"checkout", "-q", "main"});
  EXPECT_FALSE(git_->nodes.accept(settings_, at("two")).is_conflict);
  const auto applied = git_->applies.apply(root_, model::ApplyWhen::on_complete);
  EXPECT_EQ(applied.kind, Isolation::Applied::Kind::applied);
  EXPECT_THAT(applied.message, HasSubstr("a linked worktree of " + made_.root().string()));
  EXPECT_TRUE(fs::exists(linked / "two"));
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
}

// LOG-4: variables listed in a tool's `secrets` are hidden like those with secret names.
TEST_F(IsolationTest, diff_hides_configured_secrets) {
  settings_.secrets = {"swordfish-42"};
  work("one", "config", "login: swordfish-42\n");
  EXPECT_THAT(patch(1).diff, HasSubstr("+login: ***"));
  settings_.worktree.setup = {{"sh", "-c", "echo swordfish-42 is wrong; exit 3"}};
  NodeAttemptId place = at("two");
  place.worktree_id = "another";
  try {
    prepare_worktree(*git_, settings_, place);
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("*** is wrong"));
  }
}

// ISO-1: worktrees of a deleted state folder are removed; their content is kept (ISO-4).
TEST_F(IsolationTest, worktrees_of_a_deleted_state_folder_are_removed) {
  const auto make = [&](const std::string& scratch, const std::string& name) {
    git::Repository repository = *git::Repository::find(made_.root(), made_.beside(scratch));
    const fs::path folder = made_.root() / ".worktrees" / name;
    repository.add_worktree(folder, *settings_.base_commit, std::nullopt, "reeve " + name);
    write_text(folder / "mine", name + "\n");
    return folder;
  };
  const fs::path dead = make("dead", "EX-1001");
  const fs::path alive = make("alive", "EX-1002");
  fs::remove_all(made_.beside("dead"));
  survey_project(git_->context, settings_.project);
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive / "mine")) << "another daemon may work there";
  const std::string kept = made_.git({"for-each-ref", "--format=%(refname)", "refs/reeve/left"});
  EXPECT_THAT(kept, HasSubstr("refs/reeve/left/EX-1001-"));
  EXPECT_EQ(made_.git({"show", kept + ":mine"}), "EX-1001");
}

// ISO-3: git may refuse an apply temporarily. It stays queued with the reason, and succeeds when repeated.
TEST_F(IsolationTest, failed_apply_is_noted_and_can_be_retried) {
  work("one", "one", "one\n");
  write_text(made_.root() / ".git/index.lock", "");
  EXPECT_EQ(code_of([&] { git_->applies.apply(root_, model::ApplyWhen::on_complete); }), "git.index_locked");
  EXPECT_EQ(patch(1).state, PatchState::queued);
  EXPECT_THAT(patch(1).history.back().reason.value_or(""), HasSubstr("index.lock"));
  EXPECT_TRUE(git_->patches.is_queued(root_));
  fs::remove(made_.root() / ".git/index.lock");
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_complete).kind, Isolation::Applied::Kind::applied);
  EXPECT_EQ(patch(1).state, PatchState::committed);
}

// ISO-3: a daemon was killed together with the git that wrote files: the next one rolls back and continues.
TEST_F(IsolationTest, half_written_checkout_is_repaired_at_the_next_start) {
  work("one", "file.txt", "new and longer\n");
  ledger_->call([](ledger::Transaction& transaction) {
    ledger::move_patch(transaction, base::PatchId(1), {.to = PatchState::queued});
  });
  {
    const git::GitContext context(*git::find_place(made_.root()), made_.beside("scratch"));
    const git::CheckoutUpdateJournal forward =
        git::make_journal(*settings_.base_commit, made_.git({"rev-parse", branch()}), false);
    git::write_journal(context, forward);
    write_text(made_.root() / ".git/index.lock", forward.mark);
    write_text(made_.root() / "file.txt", "new and");
  }
  begin_anew();
  git_->applies.recover_checkouts();
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), *settings_.base_commit);
  EXPECT_THAT(git_->patches.find_queued(), ElementsAre(root_));
  EXPECT_THAT(git_->patches.find_queued_patches(), IsEmpty());
  EXPECT_EQ(git_->applies.apply(root_, model::ApplyWhen::on_approval).kind, Isolation::Applied::Kind::applied);
  EXPECT_EQ(made_.read("file.txt"), "new and longer\n");
}

// A single patch becomes another commit in the checkout, which keeps it alive from then on.
TEST_F(IsolationTest, applied_patch_leaves_no_ref) {
  work("one", "one", "one\n");
  work("two", "two", "two\n");
  ASSERT_EQ(act(base::PatchId(2), Isolation::PatchAction::apply, "me").state, PatchState::committed);
  git_->cleanup.close(root_);
  EXPECT_TRUE(has_ref("refs/reeve/" + root_.text() + "/PA-1")) << "it is nowhere else";
  EXPECT_FALSE(has_ref("refs/reeve/" + root_.text() + "/PA-2"));
  EXPECT_EQ(act(base::PatchId(2), Isolation::PatchAction::rollback, "me").state, PatchState::rolled_back);
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
}

// A single patch that a person requested is completed too, without any other.
TEST_F(IsolationTest, queued_single_patch_is_found_by_the_next_daemon) {
  work("one", "one", "one\n");
  work("two", "two", "two\n");
  ledger_->call([](ledger::Transaction& transaction) {
    ledger::move_patch(transaction, base::PatchId(2), {.to = PatchState::queued});
  });
  begin_anew();
  EXPECT_THAT(git_->patches.find_queued(), IsEmpty());
  EXPECT_THAT(git_->patches.find_queued_patches(), ElementsAre(base::PatchId(2)));
  act(base::PatchId(2), Isolation::PatchAction::apply, "Reeve, after a restart");
  EXPECT_TRUE(fs::exists(made_.root() / "two"));
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
}

}  // namespace
}  // namespace reeve::runtime
