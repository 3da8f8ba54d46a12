#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "model/approval.h"
#include "model/config.h"
#include "model/patch.h"
#include "runtime/settings/isolation_settings.h"

namespace reeve::runtime {

struct RuntimeContext;

// Branches, worktrees and patches of executions (ISO-1 … ISO-5). Because git is slow, one thread does all the work, in
// request order. Worktree setups have their own threads, and executions whose branch is on a remote have a second git
// thread, so that the network delays no other execution. Answers are delivered on the loop. The daemon may die between
// any two steps; every operation can be repeated and finds its earlier results. Without a base commit every request is
// answered at once: the project folder, no patch, no conflict, nothing to apply.
class Isolation {
 public:
  template <class T>
  using Answer = std::function<void(std::expected<T, base::Error>)>;

  explicit Isolation(RuntimeContext& context);
  // Ends the threads after their current step. No further answers are delivered.
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  // Before an execution starts. Errors: `git.no_commits`, `git.unsafe_folder`, `git.missing`, `git.branch_in_use`.
  struct Survey {
    // The commit the execution starts at; nothing outside git.
    std::optional<std::string> base_commit;
    // The user's uncommitted changes, which are not included.
    std::vector<std::string> dirty;
  };
  // With a remote, also checks that it exists and is readable: `git.no_remote`, `git.unsafe_remote`,
  // `git.remote_failed`.
  void survey(std::string project, std::optional<RemoteOptions> remote, Answer<Survey> answer);

  // Pushes the branch as it is, so that other hosts can continue from it. A failure is reported again when the push is
  // needed.
  void share(const IsolationSettings& settings, base::ExecutionId root);
  // Checks whether this host could take over an execution owned by another host: fetches its branch, which must match
  // the store. Answers with the commit. Errors: `git.remote_moved` and those of survey().
  void migrate(const IsolationSettings& settings, base::ExecutionId root, Answer<std::string> answer);

  // Answers with the task's working folder: the execution's worktree if it is free, otherwise a separate one made from
  // the branch. Tasks with the same `worktree_id` share one and wait their turn. The worktree is created and set up
  // (`copy`, `setup`) the first time. A repeated request (after a crash) gets the same folder with its contents. The
  // task holds the worktree until accept() or reject().
  void prepare(const IsolationSettings& settings, NodeAttemptId place, Answer<std::string> answer);

  // Called after the task's process has ended: its changes become a commit next to the branch and a patch in state
  // `created`. A repeated call updates the same patch. Without changes there is no patch.
  struct Collected {
    std::optional<base::PatchId> patch;
    std::optional<std::string> commit;
    std::vector<model::PatchFile> files;
    // Changed files that are left out of the patch: files that the setup created, which may contain secrets.
    std::vector<std::string> left_out;
  };
  // Errors: `git.worktree_gone`, `git.submodule_changed`.
  void collect(const IsolationSettings& settings, NodeAttemptId place, Answer<Collected> answer);

  // A throwaway checkout for a gate, of `commit` or of the current branch. `name` distinguishes the gates of one node;
  // a repeated request with the same name recreates the checkout.
  struct Checkout {
    std::string folder;
    // The commit and tree checked out; empty without isolation.
    std::string commit;
    std::string tree;
  };
  void checkout(const IsolationSettings& settings, NodeAttemptId place, std::optional<std::string> commit,
                std::string name, Answer<Checkout> answer);
  // Removes a folder that checkout() returned.
  void discard(const IsolationSettings& settings, std::string folder);

  // Called when an attempt was lost and none of its processes is alive: its partial changes become a `quarantined`
  // patch, and the worktree is reset to what the attempt was given. Does nothing if the task has no worktree.
  void set_back(const IsolationSettings& settings, NodeAttemptId place, Answer<void> answer);
  // The same for a gate: recreates its checkout in the same folder.
  void renew_checkout(const IsolationSettings& settings, base::ExecutionId root, const Checkout& checkout,
                      Answer<Checkout> answer);

  // Called when every gate has passed: merges the task's commit into the branch, three-way if the branch has moved; the
  // patch becomes `validated`. A conflict is a result: the patch becomes `conflicted` and the branch is unchanged.
  struct Accepted {
    bool is_conflict = false;
    std::vector<std::string> conflicts;
  };
  void accept(const IsolationSettings& settings, NodeAttemptId place, Answer<Accepted> answer);

  // Called when a gate did not pass (`rejected`), or the task failed or was cancelled (`quarantined`). Changes not yet
  // collected are collected first. The branch is unchanged and the worktree is reset to it.
  void reject(const IsolationSettings& settings, NodeAttemptId place, model::PatchState state, std::string reason,
              Answer<void> answer);

  // Called when the node was cancelled: like reject(), and changes already in the branch are removed from it
  // (`rejected`). If later changes build on them, they stay and the patch records that.
  void withdraw(const IsolationSettings& settings, NodeAttemptId place, std::string reason, Answer<void> answer);

  // ISO-3: applies the branch to the user's checkout, under a lock, three-way, and only if the checkout is clean.
  // `manual` does nothing. Changes to `.reeve/` or an agent's own configuration always need an approval first; with
  // `on_approval`, all changes do. Approving it applies the branch.
  // Before the write, every gate that passed in this execution must have passed on exactly the tree to be written: see
  // set_gates(). Changes to one checkout are applied one after the other.
  struct GateCheck {
    base::ExecutionId root{0};
    // "EX-9", or "PA-3" for a single patch.
    std::string name;
    std::string commit;
    std::string tree;
    std::vector<std::string> gates;
  };
  struct GateVerdict {
    // A message that names the gate; nothing if all passed.
    std::optional<std::string> refusal;
  };
  struct Applied {
    // `held`: a gate did not pass; the patches stay `queued`.
    enum class Kind { nothing, applied, asked, refused, held };
    Kind kind = Kind::nothing;
    // For display; if refused, includes how to apply the branch manually.
    std::string message;
    // The execution still has changes on its branch that may be applied later.
    bool waits = false;
    // Set only by intermediate steps, never in an answer: gates that must run first.
    std::optional<GateCheck> check;
    // The checkout's new commit, if applied.
    std::optional<std::string> commit;
    // The approval, if asked.
    std::optional<base::ApprovalId> approval;
  };
  void apply(const IsolationSettings& settings, base::ExecutionId root, model::ApplyWhen mode, Answer<Applied> answer);

  // Requested by a person after the execution has ended. A question whether to apply it is not bypassed: it is the
  // answer (`asked`).
  void apply_ended(base::ExecutionId root, Answer<Applied> answer);

  // Everything on the branch of an execution, as one change to the commit it started at, without secrets. Nothing if it
  // has no branch here.
  struct BranchDiff {
    std::string branch;
    std::string base_commit;
    std::string commit;
    std::vector<model::PatchFile> files;
    std::string diff;
    bool is_cut = false;
  };
  void diff(base::ExecutionId root, Answer<std::optional<BranchDiff>> answer);

  // A throwaway checkout of the change about to be written, for a gate. Works even after the execution has ended and
  // was closed.
  void check_out_merge(const IsolationSettings& settings, const GateCheck& check, std::string gate,
                       Answer<Checkout> answer);
  // Run gates and cancel them by name, on the loop. Without hooks, no gate runs, and changes that need one are not
  // applied.
  struct GateHooks {
    std::function<void(GateCheck, Answer<GateVerdict>)> ask;
    std::function<void(const std::string& name)> cancel;
  };
  void set_gates(GateHooks hooks);

  // Called when the execution has ended: removes its worktrees (uncommitted work becomes a patch first). The branch is
  // kept while some of its changes are not in the checkout. Answers false on failure: try again at the next start.
  void close(const IsolationSettings& settings, base::ExecutionId root, std::function<void(bool)> done);

  // Deletes refs of pruned executions that still have that commit; others were moved by somebody and are left alone.
  // Without the repository there is nothing to delete.
  struct OwnRef {
    std::string name;
    std::string commit;
  };
  void delete_refs(std::string project, std::vector<OwnRef> refs, Answer<void> answer);

  // Called at start: cleans up after ended executions of this host, in any project, and performs applies that were
  // approved or in progress. `alive`: roots to leave alone, in addition to those that the store reports as not ended.
  void begin(std::set<base::ExecutionId> alive, std::function<void()> done);

  // Whether there is unfinished work.
  bool is_busy() const noexcept;

  // Applies branches that a person has approved, and retries those on which git failed. An approval that asks whether
  // to apply a branch is reported to the inbox.
  void apply_granted();

  // Actions on single patches, requested by a person. Errors: `patch.not_found`, `patch.state`, `patch.conflicted`,
  // `patch.gate_refused`, `git.dirty`, ….
  enum class PatchAction { apply, drop, rollback };
  void act(base::PatchId patch, PatchAction action, std::string by, Answer<model::Patch> answer);

 private:
  // A git thread with its queues.
  struct Lane;
  Lane& lane_of(const IsolationSettings& settings) { return settings.worktree.remote ? *shared_ : *local_; }

  // Runs `work` on the git thread and delivers its result, or its error, on the loop. `work` is called either with the
  // git operations, and returns the result, or with the lane and an answer that it may call later.
  template <class T, class Work>
  void perform(Lane& lane, Answer<T> answer, Work work);
  // Callbacks own objects of the loop, but are copied on the git thread. Returns one that is safe there, and that
  // calls `answer` on the loop.
  template <class T>
  Answer<T> deliver_on_loop(Answer<T> answer);
  // Runs the task on the loop, unless this object has been destroyed by then.
  void post(std::function<void()> task);

  // Calls `act` with the thread that handles the branch of the execution.
  template <class T, class Act>
  void find_lane(base::ExecutionId root, Answer<T> answer, Act act);
  template <class Begin>
  void make_checkout(Lane& lane, NodeAttemptId place, Answer<Checkout> answer, Begin begin);
  // The attempt is done: cancels its setup, then lets waiting tasks have its worktree.
  template <class End>
  void end_attempt(Lane& lane, NodeAttemptId place, Answer<void> answer, End end);
  void ask_gates(Lane& lane, const GateCheck& check, Answer<GateVerdict> answer);

  RuntimeContext& context_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
  GateHooks gates_;
  std::unique_ptr<Lane> local_;
  // For executions whose branch is on a remote.
  std::unique_ptr<Lane> shared_;
};

}  // namespace reeve::runtime
