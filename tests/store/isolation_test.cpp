#include <gmock/gmock.h>

#include "runtime/isolation/isolation_names.h"
#include "store/approvals.h"
#include "tests/store/isolation_fixture.h"

// Branches, worktrees and patches of executions with real repositories (ISO-1 … ISO-5).
namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

using model::ApplyWhen;
using model::PatchState;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::read_text;
using Applied = Isolation::Applied;
using Word = engine::Answer::Word;

// ISO-1: branch, worktree, one commit per changing node; the checkout is not touched.
TEST_F(IsolationTest, each_node_is_a_commit_on_the_branch_of_its_execution) {
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(folder, worktree());
  write_text(folder / "new.txt", "new\n");
  write_text(folder / "file.txt", "changed\n");
  const auto collected = git_->nodes.collect(settings_, at("one"));
  ASSERT_TRUE(collected.patch);
  EXPECT_EQ(collected.files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *settings_.base_commit) << "not before it is accepted";
  EXPECT_FALSE(git_->nodes.accept(settings_, at("one")).is_conflict);
  EXPECT_EQ(show("new.txt"), "new");
  EXPECT_EQ(patch(1).state, PatchState::validated);
  EXPECT_THAT(patch(1).diff, HasSubstr("+changed"));
  work("two", "two.txt", "2\n");
  EXPECT_EQ(made_.git({"rev-list", "--count", *settings_.base_commit + ".." + branch()}), "2");
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), *settings_.base_commit);
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_THAT(made_.git({"worktree", "list", "--porcelain"}), HasSubstr("locked reeve " + root_.text()));
}

TEST_F(IsolationTest, unchanged_worktree_makes_no_patch) {
  prepare(at("one"));
  EXPECT_FALSE(git_->nodes.collect(settings_, at("one")).patch);
  git_->nodes.accept(settings_, at("one"));
  EXPECT_EQ(count_patches(), 0U);
}

// With retry_with_feedback a task continues in the same folder: one commit for all rounds.
TEST_F(IsolationTest, repeated_collection_updates_one_patch) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "a", "1\n");
  const auto first = git_->nodes.collect(settings_, at("one"));
  EXPECT_EQ(git_->nodes.collect(settings_, at("one")).commit, first.commit) << "unchanged: the same commit";
  EXPECT_EQ(prepare(at("one")), folder);
  EXPECT_EQ(read_text(folder / "a"), "1\n") << "asked again it is the folder with what is in it";
  write_text(folder / "b", "2\n");
  const auto second = git_->nodes.collect(settings_, at("one"));
  EXPECT_EQ(second.patch, first.patch);
  EXPECT_EQ(second.files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-list", "--count", *settings_.base_commit + ".." + *second.commit}), "1");
  fs::remove(folder / "a");
  fs::remove(folder / "b");
  EXPECT_FALSE(git_->nodes.collect(settings_, at("one")).patch) << "nothing is left of it";
  git_->nodes.accept(settings_, at("one"));
  EXPECT_EQ(patch(1).state, PatchState::dropped);
}

// An agent that commits, switches branches or moves Reeve's branch does not affect the result.
TEST_F(IsolationTest, an_agent_that_commits_by_itself_moves_no_branch) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "a", "1\n");
  made_.git_in(folder, {"add", "-A"});
  made_.git_in(folder, {"commit", "-qm", "mine"});
  made_.git_in(folder, {"branch", "-f", branch(), "HEAD"});
  write_text(folder / "b", "2\n");
  EXPECT_EQ(git_->nodes.collect(settings_, at("one")).files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *settings_.base_commit) << "set back";
  git_->nodes.accept(settings_, at("one"));
  EXPECT_EQ(made_.git({"rev-list", "--count", *settings_.base_commit + ".." + branch()}), "1");
}

// ISO-1: in parallel, in separate worktrees, merged three-way.
TEST_F(IsolationTest, parallel_tasks_are_merged_and_a_conflict_is_a_result) {
  const fs::path a = prepare(at("a"));
  const fs::path b = prepare(at("b"));
  const fs::path c = prepare(at("c"));
  EXPECT_EQ(a, worktree());
  EXPECT_EQ(b.filename(), root_.text() + ".2");
  write_text(a / "a", "a\n");
  write_text(b / "b", "b\n");
  write_text(c / "a", "c\n");
  for (const char* node : {"a", "b", "c"}) git_->nodes.collect(settings_, at(node));
  EXPECT_FALSE(git_->nodes.accept(settings_, at("a")).is_conflict);
  EXPECT_FALSE(git_->nodes.accept(settings_, at("b")).is_conflict);
  const std::string before = made_.git({"rev-parse", branch()});
  const auto conflict = git_->nodes.accept(settings_, at("c"));
  EXPECT_TRUE(conflict.is_conflict);
  EXPECT_THAT(conflict.conflicts, ElementsAre("a"));
  EXPECT_TRUE(git_->nodes.accept(settings_, at("c")).is_conflict) << "asked again";
  EXPECT_EQ(made_.git({"rev-parse", branch()}), before);
  EXPECT_EQ(patch(3).state, PatchState::conflicted);
  EXPECT_EQ(show("a"), "a");
  EXPECT_EQ(show("b"), "b");
  // The next task gets a free worktree with all changes.
  const fs::path next = prepare(at("d"));
  EXPECT_EQ(next, worktree());
  EXPECT_EQ(read_text(next / "b"), "b\n");
  EXPECT_EQ(made_.git_in(next, {"status", "--porcelain"}), "");
}

TEST_F(IsolationTest, tasks_with_one_worktree_id_take_turns) {
  NodeAttemptId a = at("a");
  NodeAttemptId b = at("b");
  a.worktree_id = b.worktree_id = "../the shared/one";
  const fs::path folder = prepare(a);
  EXPECT_EQ(folder.parent_path(), made_.root() / ".worktrees") << "never from YAML unchecked";
  EXPECT_FALSE(prepare_worktree(*git_, settings_, b));
  write_text(folder / "a", "a\n");
  git_->nodes.collect(settings_, a);
  git_->nodes.accept(settings_, a);
  EXPECT_EQ(prepare(b), folder);
  EXPECT_EQ(read_text(folder / "a"), "a\n");
}

// ISO-2: the branch is unchanged, the patch stays in the ledger.
TEST_F(IsolationTest, rejected_change_leaves_the_branch_unchanged) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "bad", "x\n");
  git_->nodes.collect(settings_, at("one"));
  const fs::path gate = check_out(*git_, settings_, at("one"), patch(1).commit, "tests");
  EXPECT_EQ(read_text(gate / "bad"), "x\n");
  write_text(gate / "bad", "changed by the gate\n");
  EXPECT_EQ(read_text(folder / "bad"), "x\n");
  git_->checkouts.discard(settings_, gate.string());
  EXPECT_FALSE(fs::exists(gate));
  git_->nodes.reject(settings_, at("one"), PatchState::rejected, "tests say no");
  EXPECT_EQ(patch(1).state, PatchState::rejected);
  EXPECT_EQ(patch(1).history.back().reason, "tests say no");
  EXPECT_FALSE(fs::exists(folder / "bad"));
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *settings_.base_commit);
  git_->checkouts.discard(settings_, folder.string());
  EXPECT_TRUE(fs::exists(folder)) << "only throwaway ones are thrown away";
}

// ISO-4: uncommitted work is never deleted.
TEST_F(IsolationTest, work_of_a_failed_task_becomes_a_patch) {
  write_text(prepare(at("one")) / "half", "half\n");
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "the task failed");
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
  EXPECT_THAT(patch(1).diff, HasSubstr("+half"));
  // Another attempt, and a straggler that writes after its end.
  const fs::path folder = prepare(at("one", 2));
  EXPECT_FALSE(fs::exists(folder / "half"));
  git_->nodes.accept(settings_, at("one", 2));
  write_text(folder / "late", "late\n");
  prepare(at("two"));
  EXPECT_FALSE(fs::exists(folder / "late"));
  EXPECT_EQ(patch(2).state, PatchState::quarantined);
  EXPECT_THAT(patch(2).diff, HasSubstr("+late"));
  // Work that is never collected is kept at the close.
  write_text(folder / "last", "last\n");
  git_->cleanup.close(root_);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_THAT(patch(3).diff, HasSubstr("+last"));
}

TEST_F(IsolationTest, older_attempt_is_quarantined_and_its_worktree_reused) {
  write_text(prepare(at("one")) / "old", "old\n");
  const fs::path folder = prepare(at("one", 2));
  EXPECT_EQ(folder, worktree());
  EXPECT_FALSE(fs::exists(folder / "old"));
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
}

// SPEC §7: setup commands and copied files; their results are not part of the patch.
TEST_F(IsolationTest, setup_and_copied_files_are_not_in_the_patch) {
  made_.write(".env", "SECRET=1\n");
  made_.write(".git/info/exclude", "");
  settings_.worktree.copy = {".env"};
  settings_.worktree.setup = {{"sh", "-c", "echo $FLAVOUR > made-by-setup; echo again >> count.log"}};
  settings_.environment["FLAVOUR"] = "sweet";
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(read_text(folder / ".env"), "SECRET=1\n");
  EXPECT_EQ(read_text(folder / "made-by-setup"), "sweet\n");
  write_text(folder / "mine", "mine\n");
  const auto collected = git_->nodes.collect(settings_, at("one"));
  ASSERT_EQ(collected.files.size(), 1U);
  EXPECT_EQ(collected.files[0].path, "mine");
  git_->nodes.accept(settings_, at("one"));
  EXPECT_EQ(made_.git({"ls-tree", "--name-only", branch()}), ".gitignore\nfile.txt\nfolder\nmine");
  const fs::path again = prepare(at("two"));
  EXPECT_EQ(read_text(again / ".env"), "SECRET=1\n");
  EXPECT_FALSE(git_->nodes.collect(settings_, at("two")).patch);
  git_->cleanup.close(root_);
  EXPECT_EQ(count_patches(), 1U) << "what was set up is nobody's work";
}

TEST_F(IsolationTest, failed_setup_names_the_reason_and_can_be_retried) {
  settings_.worktree.setup = {{"sh", "-c", "echo no network >&2; exit 3"}};
  try {
    prepare_worktree(*git_, settings_, at("one"));
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "worktree.setup_failed");
    EXPECT_THAT(error.message(), HasSubstr("exit code 3: no network"));
    // Both fixes are valid: the config is frozen, the environment is not.
    EXPECT_THAT(error.fix(), HasSubstr("fix the cause, then `reeve flow retry`"));
    EXPECT_THAT(error.fix(), HasSubstr("start a new execution with `reeve flow run`"));
  }
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "the task failed");
  settings_.worktree.setup = {{"touch", "it.log"}};
  EXPECT_TRUE(fs::exists(prepare(at("one", 2)) / "it.log"));
}

TEST_F(IsolationTest, a_project_below_the_root_works_in_its_own_folder) {
  settings_.project = (made_.root() / "folder").string();
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(folder, worktree() / "folder");
  write_text(folder / "x", "x\n");
  EXPECT_EQ(git_->nodes.collect(settings_, at("one")).files[0].path, "folder/x");
}

// ISO-3: once, cleanly and completely.
TEST_F(IsolationTest, branch_is_applied_to_a_clean_checkout) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  const Applied applied = git_->applies.apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(applied.kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("two"), "2\n");
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), applied.commit);
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(patch(2).state, PatchState::committed);
  EXPECT_EQ(patch(2).applied_commit, applied.commit);
  std::vector<PatchState> states;
  for (const model::PatchStep& step : patch(1).history) states.push_back(step.state);
  EXPECT_THAT(states, ElementsAre(PatchState::created, PatchState::validated, PatchState::queued, PatchState::applied,
                                  PatchState::verified, PatchState::committed));
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::nothing);
  git_->cleanup.close(root_);
  EXPECT_FALSE(has_ref("refs/heads/" + branch()));
  EXPECT_FALSE(has_ref("refs/reeve"));
  EXPECT_EQ(made_.git({"worktree", "list"}).find('\n'), std::string::npos);
}

TEST_F(IsolationTest, a_base_that_moved_is_merged_three_way) {
  work("one", "one", "1\n");
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("one"), "1\n");
  EXPECT_EQ(made_.read("theirs"), "t\n");
}

TEST_F(IsolationTest, dirty_or_conflicting_checkout_is_refused_with_instructions) {
  work("one", "file.txt", "ours\n");
  made_.write("folder/inner.txt", "dirty\n");
  const Applied dirty = git_->applies.apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(dirty.kind, Applied::Kind::refused);
  EXPECT_THAT(dirty.message, HasSubstr("folder/inner.txt"));
  EXPECT_THAT(dirty.message, HasSubstr("`git merge " + branch() + "`"));
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), *settings_.base_commit);
  EXPECT_EQ(made_.read("folder/inner.txt"), "dirty\n");
  made_.git({"checkout", "-q", "."});
  made_.write("file.txt", "theirs\n");
  const std::string head = made_.commit("theirs");
  const Applied conflict = git_->applies.apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(conflict.kind, Applied::Kind::refused);
  EXPECT_THAT(conflict.message, HasSubstr("file.txt"));
  EXPECT_EQ(patch(1).state, PatchState::conflicted);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), head);
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  git_->cleanup.close(root_);
  EXPECT_TRUE(has_ref("refs/heads/" + branch())) << "the branch stays";
}

// ISO-3: commits below the branch that the checkout does not have are not part of the execution's changes.
TEST_F(IsolationTest, checkout_without_the_base_commit_is_refused) {
  const std::string before = made_.git({"rev-parse", "HEAD"});
  made_.git({"switch", "-qc", "feature"});
  made_.write("unfinished", "u\n");
  settings_.base_commit = made_.commit("unfinished");
  work("one", "one", "1\n");
  made_.git({"switch", "-q", "-"});
  const Applied refused = git_->applies.apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(refused.kind, Applied::Kind::refused);
  EXPECT_THAT(refused.message, HasSubstr("does not contain the commit the execution started from"));
  EXPECT_THAT(refused.message, HasSubstr("git diff --binary " + *settings_.base_commit + " " + branch()));
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), before);
  EXPECT_FALSE(fs::exists(made_.root() / "unfinished"));
  made_.git({"switch", "-q", "feature"});
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
}

TEST_F(IsolationTest, manual_apply_leaves_the_checkout_unchanged) {
  work("one", "one", "1\n");
  const Applied manual = git_->applies.apply(root_, ApplyWhen::manual);
  EXPECT_EQ(manual.kind, Applied::Kind::nothing);
  EXPECT_THAT(manual.message, HasSubstr("git merge"));
  // After a manual merge it counts as applied.
  made_.git({"merge", "-q", branch()});
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_EQ(patch(1).state, PatchState::committed);
}

// ISO-4: changes to files that control agents always ask.
TEST_F(IsolationTest, changes_to_agent_configuration_ask_a_person) {
  work("one", "sub/AGENTS.md", "obey\n");
  const Applied asked = git_->applies.apply(root_, ApplyWhen::on_complete);
  ASSERT_EQ(asked.kind, Applied::Kind::asked);
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).approval, asked.approval) << "once";
  EXPECT_FALSE(fs::exists(made_.root() / "sub"));
  const auto decided = ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  EXPECT_THAT(decided.step.applies, ElementsAre(root_));
  EXPECT_THAT(decided.approval->question, HasSubstr("sub/AGENTS.md"));
  EXPECT_THAT(git_->applies.find_granted(), ElementsAre(root_));
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_approval).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("sub/AGENTS.md"), "obey\n");
  EXPECT_THAT(git_->applies.find_granted(), IsEmpty());
}

// APR-3: a change that deletes files is as risky as a call that does, and says which.
TEST_F(IsolationTest, apply_question_names_the_files_that_it_deletes) {
  const fs::path folder = prepare(at("one"));
  fs::remove(folder / "file.txt");
  fs::remove(folder / "folder/inner.txt");
  git_->nodes.collect(settings_, at("one"));
  EXPECT_FALSE(git_->nodes.accept(settings_, at("one")).is_conflict);
  const Applied asked = git_->applies.apply(root_, ApplyWhen::on_approval);
  ASSERT_TRUE(asked.approval);
  const auto question = ledger_->call(
      [&](ledger::Transaction& transaction) { return store::find_approval(transaction.session(), *asked.approval); });
  ASSERT_TRUE(question);
  EXPECT_EQ(question->approval.risk, model::Risk::high);
  EXPECT_THAT(question->approval.risk_reasons, ElementsAre("deletes file.txt, folder/inner.txt"));
  EXPECT_TRUE(patch(1).files.front().is_deleted);
}

TEST_F(IsolationTest, rejected_apply_stays_on_the_branch_and_is_not_asked_again) {
  work("one", "one", "1\n");
  const Applied asked = git_->applies.apply(root_, ApplyWhen::on_approval);
  ASSERT_EQ(asked.kind, Applied::Kind::asked);
  EXPECT_THAT(ledger_.decide(*asked.approval, {Word::reject, {}, {}, "ana"}).step.applies, IsEmpty());
  const Applied after = git_->applies.apply(root_, ApplyWhen::on_approval);
  EXPECT_EQ(after.kind, Applied::Kind::nothing);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(patch(1).state, PatchState::validated);
}

// APR-10: only the approved state is applied.
TEST_F(IsolationTest, approval_of_another_branch_state_is_void) {
  work("one", "one", "1\n");
  const Applied asked = git_->applies.apply(root_, ApplyWhen::on_approval);
  ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  work("two", "two", "2\n");
  const Applied again = git_->applies.apply(root_, ApplyWhen::on_approval);
  EXPECT_EQ(again.kind, Applied::Kind::asked);
  EXPECT_NE(again.approval, asked.approval);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
}

TEST_F(IsolationTest, a_branch_that_is_checked_out_elsewhere_is_left_alone) {
  write_text(prepare(at("one")) / "a", "a\n");
  git_->nodes.collect(settings_, at("one"));
  made_.git({"checkout", "-q", branch()});
  EXPECT_EQ(code_of([&] { git_->nodes.accept(settings_, at("one")); }), "git.branch_in_use");
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(patch(1).state, PatchState::created);
  made_.git({"checkout", "-q", "-"});
  EXPECT_FALSE(git_->nodes.accept(settings_, at("one")).is_conflict);
}

TEST_F(IsolationTest, existing_branch_of_that_name_is_refused) {
  made_.git({"branch", branch()});
  EXPECT_EQ(code_of([&] { prepare_worktree(*git_, settings_, at("one")); }), "git.branch_in_use");
  EXPECT_FALSE(fs::exists(worktree()));
}

TEST_F(IsolationTest, symlinked_worktrees_folder_is_refused) {
  fs::create_directory(made_.beside("elsewhere"));
  fs::create_directory_symlink(made_.beside("elsewhere"), made_.root() / ".worktrees");
  EXPECT_EQ(code_of([&] { survey_project(git_->context, settings_.project); }), "git.unsafe_folder");
  EXPECT_EQ(code_of([&] { prepare_worktree(*git_, settings_, at("one")); }), "git.unsafe_folder");
  EXPECT_TRUE(fs::is_empty(made_.beside("elsewhere")));
}

TEST_F(IsolationTest, survey_returns_base_commit_and_dirty_files) {
  made_.write("file.txt", "dirty\n");
  const auto survey = survey_project(git_->context, settings_.project);
  EXPECT_EQ(survey.base_commit, settings_.base_commit);
  EXPECT_THAT(survey.dirty, ElementsAre("file.txt"));
  EXPECT_FALSE(survey_project(git_->context, made_.beside("").string()).base_commit);
}

TEST_F(IsolationTest, a_single_patch_is_applied_and_rolled_back) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  EXPECT_EQ(act(base::PatchId(2), Isolation::PatchAction::apply, "ana").state, PatchState::committed);
  EXPECT_EQ(made_.read("two"), "2\n");
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(act(base::PatchId(2), Isolation::PatchAction::rollback, "ana").state, PatchState::rolled_back);
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(code_of([&] { act(base::PatchId(2), Isolation::PatchAction::apply, "ana"); }), "patch.state");
  EXPECT_EQ(code_of([&] { act(base::PatchId(9), Isolation::PatchAction::drop, "ana"); }), "patch.not_found");
}

TEST_F(IsolationTest, dropped_patch_is_not_applied_with_the_rest) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  EXPECT_EQ(act(base::PatchId(1), Isolation::PatchAction::drop, "ana").state, PatchState::dropped);
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(made_.read("two"), "2\n");
}

TEST_F(IsolationTest, quarantined_patch_is_applied_only_to_a_clean_checkout) {
  write_text(prepare(at("one")) / "half", "half\n");
  git_->nodes.reject(settings_, at("one"), PatchState::quarantined, "the task failed");
  git_->cleanup.close(root_);
  made_.write("file.txt", "dirty\n");
  EXPECT_EQ(code_of([&] { act(base::PatchId(1), Isolation::PatchAction::apply, "ana"); }), "git.dirty");
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  made_.git({"checkout", "-q", "."});
  EXPECT_EQ(act(base::PatchId(1), Isolation::PatchAction::apply, "ana").state, PatchState::committed);
  EXPECT_EQ(made_.read("half"), "half\n");
}

// Killed between any two steps, the caller repeats the request: the result is the same.
TEST_F(IsolationTest, crash_between_any_two_steps_does_not_change_the_result) {
  for (const char* node : {"a", "b"}) {
    const NodeAttemptId place = at(node);
    with_crashes([&] { prepare(place); });
    write_text(prepare(place) / node, "x\n");
    with_crashes([&] { git_->nodes.collect(settings_, place); });
    with_crashes([&] { git_->nodes.accept(settings_, place); });
  }
  const NodeAttemptId rejected = at("c");
  with_crashes([&] { prepare(rejected); });
  write_text(prepare(rejected) / "c", "x\n");
  with_crashes([&] { git_->nodes.reject(settings_, rejected, PatchState::rejected, "no"); });
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  with_crashes([&] { git_->applies.apply(root_, ApplyWhen::on_complete); });
  with_crashes([&] { git_->cleanup.close(root_); });
  EXPECT_EQ(count_patches(), 3U);
  EXPECT_EQ(patch(1).state, PatchState::committed);
  EXPECT_EQ(patch(1).history.size(), 6U);
  EXPECT_EQ(patch(2).state, PatchState::committed);
  EXPECT_EQ(patch(3).state, PatchState::rejected);
  EXPECT_EQ(made_.read("a"), "x\n");
  EXPECT_EQ(made_.read("theirs"), "t\n");
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(made_.git({"worktree", "list"}).find('\n'), std::string::npos);
  EXPECT_EQ(made_.git({"for-each-ref", "--format=%(refname)", "refs/reeve"}), "refs/reeve/" + root_.text() + "/PA-3");
  EXPECT_TRUE(git_->cleanup.is_closed(root_));
}

// The same with one crash in the life of each task, at every crash point.
TEST_F(IsolationTest, one_crash_at_any_point_does_not_change_the_result) {
  enum class Part { prepare, collect, accept, reject };
  int tasks = 0;
  for (const Part part : {Part::prepare, Part::collect, Part::accept, Part::reject}) {
    bool has_died = true;
    for (int point = 1; has_died; ++point) {
      has_died = false;
      const NodeAttemptId place = at("task-" + std::to_string(++tasks));
      const auto once = [&](Part now, const auto& act) {
        if (now == part) dies_in_ = point;
        try {
          act();
        } catch (const Killed&) {
          has_died = true;
        }
        dies_in_.reset();
        begin_anew();
        act();
      };
      once(Part::prepare, [&] { prepare(place); });
      write_text(prepare(place) / place.node, "x\n");
      once(Part::collect, [&] { git_->nodes.collect(settings_, place); });
      if (part == Part::reject) {
        once(Part::reject, [&] { git_->nodes.reject(settings_, place, PatchState::rejected, "no"); });
      } else {
        once(Part::accept, [&] { git_->nodes.accept(settings_, place); });
      }
      const bool is_accepted = part != Part::reject;
      EXPECT_EQ(patch(tasks).state, is_accepted ? PatchState::validated : PatchState::rejected) << tasks;
      EXPECT_EQ(patch(tasks).files.size(), 1U) << tasks;
    }
  }
  EXPECT_GT(tasks, 12);
  git_->cleanup.close(root_);
  EXPECT_EQ(count_patches(), static_cast<std::size_t>(tasks)) << "none that nobody made";
}

TEST_F(IsolationTest, crash_during_a_patch_action_is_resumed) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  using enum Isolation::PatchAction;
  with_crashes([&] { act(base::PatchId(2), apply, "ana"); });
  EXPECT_EQ(made_.read("two"), "2\n");
  with_crashes([&] { act(base::PatchId(2), rollback, "ana"); });
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
  with_crashes([&] { act(base::PatchId(1), drop, "ana"); });
  EXPECT_EQ(patch(1).state, PatchState::dropped);
  EXPECT_EQ(made_.git({"rev-list", "--count", *settings_.base_commit + "..HEAD"}), "3") << "each once";
}

// A granted apply that was in progress when the daemon died is found again.
TEST_F(IsolationTest, queued_apply_is_found_by_the_next_daemon) {
  work("one", "one", "1\n");
  const Applied asked = git_->applies.apply(root_, ApplyWhen::on_approval);
  ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  dies_in_ = 1;
  EXPECT_THROW(git_->applies.apply(root_, ApplyWhen::on_approval), Killed);
  dies_in_.reset();
  begin_anew();
  EXPECT_THAT(git_->applies.find_granted(), IsEmpty()) << "used";
  EXPECT_THAT(git_->patches.find_queued(), ElementsAre(root_));
  EXPECT_EQ(git_->applies.apply(root_, ApplyWhen::on_approval).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("one"), "1\n");
}

TEST(IsolationNames, recognise_agent_configuration_files) {
  for (const char* path : {".reeve/config.yaml", "AGENTS.md", "a/b/agents.MD", ".claude/settings.json",
                           ".aider.conf.yml", "x/.cursor/rules", ".mcp.json", "CLAUDE.md", ".codex"}) {
    EXPECT_TRUE(is_sensitive(path)) << path;
  }
  for (const char* path : {"README.md", "src/claude.cpp", "docs/agents.txt", "reeve/x"}) {
    EXPECT_FALSE(is_sensitive(path)) << path;
  }
}

TEST(IsolationNames, stay_inside_the_folder) {
  for (const char* id : {"../../etc", "a/b", "", ".", "-rf", "ä", "x y"}) {
    EXPECT_THAT(shared_name(id), ::testing::MatchesRegex("w-[A-Za-z0-9_-]+")) << id;
  }
  EXPECT_NE(shared_name("a/b"), shared_name("a_b"));
  EXPECT_LT(throwaway_name(std::string(5'000, 'x')).size(), 60U);
  EXPECT_TRUE(is_throwaway("EX-9.g-x"));
  EXPECT_FALSE(is_throwaway("EX-9.2"));
  EXPECT_FALSE(is_throwaway("EX-9"));
  EXPECT_FALSE(is_throwaway(".."));
}

}  // namespace
}  // namespace reeve::runtime
