#include <gmock/gmock.h>

#include "runtime/isolation_names.h"
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

// ISO-1: branch, worktree, one commit per changing node; the checkout stays as it is.
TEST_F(IsolationTest, each_node_is_a_commit_on_the_branch_of_its_execution) {
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(folder, worktree());
  write_text(folder / "new.txt", "new\n");
  write_text(folder / "file.txt", "changed\n");
  const auto collected = steps_->collect(ground_, at("one"));
  ASSERT_TRUE(collected.patch);
  EXPECT_EQ(collected.files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *ground_.base_commit) << "not before it is accepted";
  EXPECT_FALSE(steps_->accept(ground_, at("one")).is_conflict);
  EXPECT_EQ(show("new.txt"), "new");
  EXPECT_EQ(patch(1).state, PatchState::validated);
  EXPECT_THAT(patch(1).diff, HasSubstr("+changed"));
  work("two", "two.txt", "2\n");
  EXPECT_EQ(made_.git({"rev-list", "--count", *ground_.base_commit + ".." + branch()}), "2");
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), *ground_.base_commit);
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_THAT(made_.git({"worktree", "list", "--porcelain"}), HasSubstr("locked reeve " + root_.text()));
}

TEST_F(IsolationTest, nothing_changed_is_no_patch) {
  prepare(at("one"));
  EXPECT_FALSE(steps_->collect(ground_, at("one")).patch);
  steps_->accept(ground_, at("one"));
  EXPECT_EQ(count_patches(), 0U);
}

// With retry_with_feedback a task goes on in the same folder: one commit of all rounds.
TEST_F(IsolationTest, collected_again_it_is_one_patch_of_all) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "a", "1\n");
  const auto first = steps_->collect(ground_, at("one"));
  EXPECT_EQ(steps_->collect(ground_, at("one")).commit, first.commit) << "unchanged: the same commit";
  EXPECT_EQ(prepare(at("one")), folder);
  EXPECT_EQ(read_text(folder / "a"), "1\n") << "asked again it is the folder with what is in it";
  write_text(folder / "b", "2\n");
  const auto second = steps_->collect(ground_, at("one"));
  EXPECT_EQ(second.patch, first.patch);
  EXPECT_EQ(second.files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-list", "--count", *ground_.base_commit + ".." + *second.commit}), "1");
  fs::remove(folder / "a");
  fs::remove(folder / "b");
  EXPECT_FALSE(steps_->collect(ground_, at("one")).patch) << "nothing is left of it";
  steps_->accept(ground_, at("one"));
  EXPECT_EQ(patch(1).state, PatchState::dropped);
}

// An agent that commits, switches branches or moves ours changes nothing about what counts.
TEST_F(IsolationTest, an_agent_that_commits_by_itself_moves_no_branch) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "a", "1\n");
  made_.git_in(folder, {"add", "-A"});
  made_.git_in(folder, {"commit", "-qm", "mine"});
  made_.git_in(folder, {"branch", "-f", branch(), "HEAD"});
  write_text(folder / "b", "2\n");
  EXPECT_EQ(steps_->collect(ground_, at("one")).files.size(), 2U);
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *ground_.base_commit) << "set back";
  steps_->accept(ground_, at("one"));
  EXPECT_EQ(made_.git({"rev-list", "--count", *ground_.base_commit + ".." + branch()}), "1");
}

// ISO-1: side by side in worktrees of their own, merged three-way.
TEST_F(IsolationTest, parallel_tasks_are_merged_and_a_conflict_is_a_result) {
  const fs::path a = prepare(at("a"));
  const fs::path b = prepare(at("b"));
  const fs::path c = prepare(at("c"));
  EXPECT_EQ(a, worktree());
  EXPECT_EQ(b.filename(), root_.text() + ".2");
  write_text(a / "a", "a\n");
  write_text(b / "b", "b\n");
  write_text(c / "a", "c\n");
  for (const char* node : {"a", "b", "c"}) steps_->collect(ground_, at(node));
  EXPECT_FALSE(steps_->accept(ground_, at("a")).is_conflict);
  EXPECT_FALSE(steps_->accept(ground_, at("b")).is_conflict);
  const std::string before = made_.git({"rev-parse", branch()});
  const auto conflict = steps_->accept(ground_, at("c"));
  EXPECT_TRUE(conflict.is_conflict);
  EXPECT_THAT(conflict.conflicts, ElementsAre("a"));
  EXPECT_TRUE(steps_->accept(ground_, at("c")).is_conflict) << "asked again";
  EXPECT_EQ(made_.git({"rev-parse", branch()}), before);
  EXPECT_EQ(patch(3).state, PatchState::conflicted);
  EXPECT_EQ(show("a"), "a");
  EXPECT_EQ(show("b"), "b");
  // The next finds a free one with all of it.
  const fs::path next = prepare(at("d"));
  EXPECT_EQ(next, worktree());
  EXPECT_EQ(read_text(next / "b"), "b\n");
  EXPECT_EQ(made_.git_in(next, {"status", "--porcelain"}), "");
}

TEST_F(IsolationTest, the_same_worktree_id_shares_one_in_turns) {
  NodePlace a = at("a");
  NodePlace b = at("b");
  a.worktree_id = b.worktree_id = "../the shared/one";
  const fs::path folder = prepare(a);
  EXPECT_EQ(folder.parent_path(), made_.root() / ".worktrees") << "never from YAML unchecked";
  EXPECT_FALSE(steps_->prepare(ground_, b));
  write_text(folder / "a", "a\n");
  steps_->collect(ground_, a);
  steps_->accept(ground_, a);
  EXPECT_EQ(prepare(b), folder);
  EXPECT_EQ(read_text(folder / "a"), "a\n");
}

// ISO-2: the branch stays as it was, the patch stays in the ledger.
TEST_F(IsolationTest, what_a_gate_rejects_leaves_the_branch_as_it_was) {
  const fs::path folder = prepare(at("one"));
  write_text(folder / "bad", "x\n");
  steps_->collect(ground_, at("one"));
  const fs::path gate = steps_->checkout(ground_, at("one"), patch(1).commit, "tests");
  EXPECT_EQ(read_text(gate / "bad"), "x\n");
  write_text(gate / "bad", "changed by the gate\n");
  EXPECT_EQ(read_text(folder / "bad"), "x\n");
  steps_->discard(ground_, gate.string());
  EXPECT_FALSE(fs::exists(gate));
  steps_->reject(ground_, at("one"), PatchState::rejected, "tests say no");
  EXPECT_EQ(patch(1).state, PatchState::rejected);
  EXPECT_EQ(patch(1).history.back().reason, "tests say no");
  EXPECT_FALSE(fs::exists(folder / "bad"));
  EXPECT_EQ(made_.git({"rev-parse", branch()}), *ground_.base_commit);
  steps_->discard(ground_, folder.string());
  EXPECT_TRUE(fs::exists(folder)) << "only throwaway ones are thrown away";
}

// ISO-4: uncommitted work is never deleted.
TEST_F(IsolationTest, what_a_failed_task_left_becomes_a_patch) {
  write_text(prepare(at("one")) / "half", "half\n");
  steps_->reject(ground_, at("one"), PatchState::quarantined, "the task failed");
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
  EXPECT_THAT(patch(1).diff, HasSubstr("+half"));
  // Another attempt, and a straggler that writes after its end.
  const fs::path folder = prepare(at("one", 2));
  EXPECT_FALSE(fs::exists(folder / "half"));
  steps_->accept(ground_, at("one", 2));
  write_text(folder / "late", "late\n");
  prepare(at("two"));
  EXPECT_FALSE(fs::exists(folder / "late"));
  EXPECT_EQ(patch(2).state, PatchState::quarantined);
  EXPECT_THAT(patch(2).diff, HasSubstr("+late"));
  // Work that is never collected, to the end.
  write_text(folder / "last", "last\n");
  steps_->close(root_);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_THAT(patch(3).diff, HasSubstr("+last"));
}

TEST_F(IsolationTest, an_older_attempt_makes_room_and_keeps_its_work) {
  write_text(prepare(at("one")) / "old", "old\n");
  const fs::path folder = prepare(at("one", 2));
  EXPECT_EQ(folder, worktree());
  EXPECT_FALSE(fs::exists(folder / "old"));
  EXPECT_EQ(patch(1).state, PatchState::quarantined);
}

// SPEC §7: setup commands and copied files; what they leave is no part of the patch.
TEST_F(IsolationTest, setup_and_copies_are_there_and_no_part_of_the_patch) {
  made_.write(".env", "SECRET=1\n");
  made_.write(".git/info/exclude", "");
  ground_.worktree.copy = {".env"};
  ground_.worktree.setup = {{"sh", "-c", "echo $FLAVOUR > made-by-setup; echo again >> count.log"}};
  ground_.environment["FLAVOUR"] = "sweet";
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(read_text(folder / ".env"), "SECRET=1\n");
  EXPECT_EQ(read_text(folder / "made-by-setup"), "sweet\n");
  write_text(folder / "mine", "mine\n");
  const auto collected = steps_->collect(ground_, at("one"));
  ASSERT_EQ(collected.files.size(), 1U);
  EXPECT_EQ(collected.files[0].path, "mine");
  steps_->accept(ground_, at("one"));
  EXPECT_EQ(made_.git({"ls-tree", "--name-only", branch()}), ".gitignore\nfile.txt\nfolder\nmine");
  const fs::path again = prepare(at("two"));
  EXPECT_EQ(read_text(again / ".env"), "SECRET=1\n");
  EXPECT_FALSE(steps_->collect(ground_, at("two")).patch);
  steps_->close(root_);
  EXPECT_EQ(count_patches(), 1U) << "what was set up is nobody's work";
}

TEST_F(IsolationTest, a_setup_that_fails_says_why_and_can_be_tried_again) {
  ground_.worktree.setup = {{"sh", "-c", "echo no network >&2; exit 3"}};
  try {
    steps_->prepare(ground_, at("one"));
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "worktree.setup_failed");
    EXPECT_THAT(error.message(), HasSubstr("exit code 3: no network"));
    // Both ways to go on are true: the config is frozen, the world is not.
    EXPECT_THAT(error.fix(), HasSubstr("mend what it lacks, then `reeve flow retry`"));
    EXPECT_THAT(error.fix(), HasSubstr("begin anew with `reeve flow run`"));
  }
  steps_->reject(ground_, at("one"), PatchState::quarantined, "the task failed");
  ground_.worktree.setup = {{"touch", "it.log"}};
  EXPECT_TRUE(fs::exists(prepare(at("one", 2)) / "it.log"));
}

TEST_F(IsolationTest, a_project_below_the_root_works_in_its_own_folder) {
  ground_.project = (made_.root() / "folder").string();
  const fs::path folder = prepare(at("one"));
  EXPECT_EQ(folder, worktree() / "folder");
  write_text(folder / "x", "x\n");
  EXPECT_EQ(steps_->collect(ground_, at("one")).files[0].path, "folder/x");
}

// ISO-3: once, clean, and all of it.
TEST_F(IsolationTest, the_branch_goes_into_a_clean_checkout) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  const Applied applied = steps_->apply(root_, ApplyWhen::on_complete);
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
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::nothing);
  steps_->close(root_);
  EXPECT_FALSE(has_ref("refs/heads/" + branch()));
  EXPECT_FALSE(has_ref("refs/reeve"));
  EXPECT_EQ(made_.git({"worktree", "list"}).find('\n'), std::string::npos);
}

TEST_F(IsolationTest, a_base_that_moved_is_merged_three_way) {
  work("one", "one", "1\n");
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("one"), "1\n");
  EXPECT_EQ(made_.read("theirs"), "t\n");
}

TEST_F(IsolationTest, a_dirty_checkout_or_a_conflict_is_refused_with_the_way_out) {
  work("one", "file.txt", "ours\n");
  made_.write("folder/inner.txt", "dirty\n");
  const Applied dirty = steps_->apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(dirty.kind, Applied::Kind::refused);
  EXPECT_THAT(dirty.message, HasSubstr("folder/inner.txt"));
  EXPECT_THAT(dirty.message, HasSubstr("`git merge " + branch() + "`"));
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), *ground_.base_commit);
  EXPECT_EQ(made_.read("folder/inner.txt"), "dirty\n");
  made_.git({"checkout", "-q", "."});
  made_.write("file.txt", "theirs\n");
  const std::string head = made_.commit("theirs");
  const Applied conflict = steps_->apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(conflict.kind, Applied::Kind::refused);
  EXPECT_THAT(conflict.message, HasSubstr("file.txt"));
  EXPECT_EQ(patch(1).state, PatchState::conflicted);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), head);
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  steps_->close(root_);
  EXPECT_TRUE(has_ref("refs/heads/" + branch())) << "the branch stays";
}

// ISO-3: what the branch builds on and the checkout does not have is no part of what was done.
TEST_F(IsolationTest, a_checkout_that_left_what_it_started_from_is_refused) {
  const std::string before = made_.git({"rev-parse", "HEAD"});
  made_.git({"switch", "-qc", "feature"});
  made_.write("unfinished", "u\n");
  ground_.base_commit = made_.commit("unfinished");
  work("one", "one", "1\n");
  made_.git({"switch", "-q", "-"});
  const Applied refused = steps_->apply(root_, ApplyWhen::on_complete);
  EXPECT_EQ(refused.kind, Applied::Kind::refused);
  EXPECT_THAT(refused.message, HasSubstr("no longer on what it started from"));
  EXPECT_THAT(refused.message, HasSubstr("git diff --binary " + *ground_.base_commit + " " + branch()));
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  EXPECT_EQ(made_.git({"rev-parse", "HEAD"}), before);
  EXPECT_FALSE(fs::exists(made_.root() / "unfinished"));
  made_.git({"switch", "-q", "feature"});
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
}

TEST_F(IsolationTest, manual_leaves_the_checkout_alone) {
  work("one", "one", "1\n");
  const Applied manual = steps_->apply(root_, ApplyWhen::manual);
  EXPECT_EQ(manual.kind, Applied::Kind::nothing);
  EXPECT_THAT(manual.message, HasSubstr("git merge"));
  // Taken over by hand: then it is there.
  made_.git({"merge", "-q", branch()});
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_EQ(patch(1).state, PatchState::committed);
}

// ISO-4: what agents obey always asks.
TEST_F(IsolationTest, the_configuration_of_agents_asks_a_person) {
  work("one", "sub/AGENTS.md", "obey\n");
  const Applied asked = steps_->apply(root_, ApplyWhen::on_complete);
  ASSERT_EQ(asked.kind, Applied::Kind::asked);
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).approval, asked.approval) << "once";
  EXPECT_FALSE(fs::exists(made_.root() / "sub"));
  const auto decided = ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  EXPECT_THAT(decided.step.applies, ElementsAre(root_));
  EXPECT_THAT(decided.approval->question, HasSubstr("sub/AGENTS.md"));
  EXPECT_THAT(steps_->find_granted(), ElementsAre(root_));
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_approval).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("sub/AGENTS.md"), "obey\n");
  EXPECT_THAT(steps_->find_granted(), IsEmpty());
}

TEST_F(IsolationTest, a_no_leaves_it_on_the_branch_and_is_not_asked_again) {
  work("one", "one", "1\n");
  const Applied asked = steps_->apply(root_, ApplyWhen::on_approval);
  ASSERT_EQ(asked.kind, Applied::Kind::asked);
  EXPECT_THAT(ledger_.decide(*asked.approval, {Word::reject, {}, {}, "ana"}).step.applies, IsEmpty());
  const Applied after = steps_->apply(root_, ApplyWhen::on_approval);
  EXPECT_EQ(after.kind, Applied::Kind::nothing);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(patch(1).state, PatchState::validated);
}

// APR-10: what was approved is what is applied.
TEST_F(IsolationTest, a_yes_to_another_state_of_the_branch_is_void) {
  work("one", "one", "1\n");
  const Applied asked = steps_->apply(root_, ApplyWhen::on_approval);
  ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  work("two", "two", "2\n");
  const Applied again = steps_->apply(root_, ApplyWhen::on_approval);
  EXPECT_EQ(again.kind, Applied::Kind::asked);
  EXPECT_NE(again.approval, asked.approval);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
}

TEST_F(IsolationTest, a_branch_that_is_checked_out_elsewhere_is_left_alone) {
  write_text(prepare(at("one")) / "a", "a\n");
  steps_->collect(ground_, at("one"));
  made_.git({"checkout", "-q", branch()});
  EXPECT_EQ(code_of([&] { steps_->accept(ground_, at("one")); }), "git.branch_in_use");
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(patch(1).state, PatchState::created);
  made_.git({"checkout", "-q", "-"});
  EXPECT_FALSE(steps_->accept(ground_, at("one")).is_conflict);
}

TEST_F(IsolationTest, a_branch_of_another_reeve_is_not_taken) {
  made_.git({"branch", branch()});
  EXPECT_EQ(code_of([&] { steps_->prepare(ground_, at("one")); }), "git.branch_in_use");
  EXPECT_FALSE(fs::exists(worktree()));
}

TEST_F(IsolationTest, a_worktrees_folder_that_is_a_link_is_refused) {
  fs::create_directory(made_.beside("elsewhere"));
  fs::create_directory_symlink(made_.beside("elsewhere"), made_.root() / ".worktrees");
  EXPECT_EQ(code_of([&] { steps_->survey(ground_.project); }), "git.unsafe_folder");
  EXPECT_EQ(code_of([&] { steps_->prepare(ground_, at("one")); }), "git.unsafe_folder");
  EXPECT_TRUE(fs::is_empty(made_.beside("elsewhere")));
}

TEST_F(IsolationTest, a_survey_tells_the_commit_and_what_is_no_part_of_it) {
  made_.write("file.txt", "dirty\n");
  const auto survey = steps_->survey(ground_.project);
  EXPECT_EQ(survey.base_commit, ground_.base_commit);
  EXPECT_THAT(survey.dirty, ElementsAre("file.txt"));
  EXPECT_FALSE(steps_->survey(made_.beside("").string()).base_commit);
}

// Single patches.
TEST_F(IsolationTest, a_single_patch_is_applied_and_rolled_back) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  EXPECT_EQ(steps_->act(base::PatchId(2), Isolation::PatchAction::apply, "ana").state, PatchState::committed);
  EXPECT_EQ(made_.read("two"), "2\n");
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(steps_->act(base::PatchId(2), Isolation::PatchAction::rollback, "ana").state, PatchState::rolled_back);
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
  EXPECT_EQ(made_.git({"status", "--porcelain"}), "");
  EXPECT_EQ(code_of([&] { steps_->act(base::PatchId(2), Isolation::PatchAction::apply, "ana"); }), "patch.state");
  EXPECT_EQ(code_of([&] { steps_->act(base::PatchId(9), Isolation::PatchAction::drop, "ana"); }), "patch.not_found");
}

TEST_F(IsolationTest, a_dropped_patch_does_not_come_with_the_rest) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  EXPECT_EQ(steps_->act(base::PatchId(1), Isolation::PatchAction::drop, "ana").state, PatchState::dropped);
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_complete).kind, Applied::Kind::applied);
  EXPECT_FALSE(fs::exists(made_.root() / "one"));
  EXPECT_EQ(made_.read("two"), "2\n");
}

TEST_F(IsolationTest, a_quarantined_patch_can_be_applied_by_a_person_and_a_dirty_checkout_refuses_it) {
  write_text(prepare(at("one")) / "half", "half\n");
  steps_->reject(ground_, at("one"), PatchState::quarantined, "the task failed");
  steps_->close(root_);
  made_.write("file.txt", "dirty\n");
  EXPECT_EQ(code_of([&] { steps_->act(base::PatchId(1), Isolation::PatchAction::apply, "ana"); }), "git.dirty");
  EXPECT_EQ(patch(1).state, PatchState::apply_failed);
  made_.git({"checkout", "-q", "."});
  EXPECT_EQ(steps_->act(base::PatchId(1), Isolation::PatchAction::apply, "ana").state, PatchState::committed);
  EXPECT_EQ(made_.read("half"), "half\n");
}

// Killed between any two steps, whoever asked asks again: the same in the end.
TEST_F(IsolationTest, a_crash_between_any_two_steps_changes_nothing_in_the_end) {
  for (const char* node : {"a", "b"}) {
    const NodePlace place = at(node);
    with_crashes([&] { prepare(place); });
    write_text(prepare(place) / node, "x\n");
    with_crashes([&] { steps_->collect(ground_, place); });
    with_crashes([&] { steps_->accept(ground_, place); });
  }
  const NodePlace rejected = at("c");
  with_crashes([&] { prepare(rejected); });
  write_text(prepare(rejected) / "c", "x\n");
  with_crashes([&] { steps_->reject(ground_, rejected, PatchState::rejected, "no"); });
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  with_crashes([&] { steps_->apply(root_, ApplyWhen::on_complete); });
  with_crashes([&] { steps_->close(root_); });
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
  EXPECT_TRUE(steps_->is_closed(root_));
}

// The same with one crash in the life of each task, at every point that there is.
TEST_F(IsolationTest, one_crash_at_any_point_of_a_task_changes_nothing_in_the_end) {
  enum class Part { prepare, collect, accept, reject };
  int tasks = 0;
  for (const Part part : {Part::prepare, Part::collect, Part::accept, Part::reject}) {
    bool has_died = true;
    for (int point = 1; has_died; ++point) {
      has_died = false;
      const NodePlace place = at("task-" + std::to_string(++tasks));
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
      once(Part::collect, [&] { steps_->collect(ground_, place); });
      if (part == Part::reject) {
        once(Part::reject, [&] { steps_->reject(ground_, place, PatchState::rejected, "no"); });
      } else {
        once(Part::accept, [&] { steps_->accept(ground_, place); });
      }
      const bool is_accepted = part != Part::reject;
      EXPECT_EQ(patch(tasks).state, is_accepted ? PatchState::validated : PatchState::rejected) << tasks;
      EXPECT_EQ(patch(tasks).files.size(), 1U) << tasks;
    }
  }
  EXPECT_GT(tasks, 12);
  steps_->close(root_);
  EXPECT_EQ(count_patches(), static_cast<std::size_t>(tasks)) << "none that nobody made";
}

TEST_F(IsolationTest, a_crash_while_a_person_acts_is_gone_on_with) {
  work("one", "one", "1\n");
  work("two", "two", "2\n");
  made_.write("theirs", "t\n");
  made_.commit("theirs");
  using enum Isolation::PatchAction;
  with_crashes([&] { steps_->act(base::PatchId(2), apply, "ana"); });
  EXPECT_EQ(made_.read("two"), "2\n");
  with_crashes([&] { steps_->act(base::PatchId(2), rollback, "ana"); });
  EXPECT_FALSE(fs::exists(made_.root() / "two"));
  with_crashes([&] { steps_->act(base::PatchId(1), drop, "ana"); });
  EXPECT_EQ(patch(1).state, PatchState::dropped);
  EXPECT_EQ(made_.git({"rev-list", "--count", *ground_.base_commit + "..HEAD"}), "3") << "each once";
}

// A granted apply that was on its way when the daemon died is found again.
TEST_F(IsolationTest, what_was_queued_is_found_by_the_next_daemon) {
  work("one", "one", "1\n");
  const Applied asked = steps_->apply(root_, ApplyWhen::on_approval);
  ledger_.decide(*asked.approval, {Word::approve, {}, {}, "ana"});
  dies_in_ = 1;
  EXPECT_THROW(steps_->apply(root_, ApplyWhen::on_approval), Killed);
  dies_in_.reset();
  begin_anew();
  EXPECT_THAT(steps_->find_granted(), IsEmpty()) << "used";
  EXPECT_THAT(steps_->find_queued(), ElementsAre(root_));
  EXPECT_EQ(steps_->apply(root_, ApplyWhen::on_approval).kind, Applied::Kind::applied);
  EXPECT_EQ(made_.read("one"), "1\n");
}

TEST(IsolationNames, say_what_agents_obey) {
  for (const char* path : {".reeve/config.yaml", "AGENTS.md", "a/b/agents.MD", ".claude/settings.json",
                           ".aider.conf.yml", "x/.cursor/rules", ".mcp.json", "CLAUDE.md", ".codex"}) {
    EXPECT_TRUE(is_sensitive(path)) << path;
  }
  for (const char* path : {"README.md", "src/claude.cpp", "docs/agents.txt", "reeve/x"}) {
    EXPECT_FALSE(is_sensitive(path)) << path;
  }
}

TEST(IsolationNames, never_lead_out_of_the_folder) {
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
