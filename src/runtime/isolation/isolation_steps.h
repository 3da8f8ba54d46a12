#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/redaction.h"
#include "git/repository.h"
#include "ledger/ledger.h"
#include "ledger/patches.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/worktree_setup.h"
#include "store/branches.h"

namespace reeve::runtime {

// The blocking steps of isolation, which alternate between git and the store. The store is authoritative and git
// follows it: each step can be repeated, and a step interrupted by a crash is redone. Called on one thread only.
class IsolationSteps {
 public:
  struct Options {
    ledger::Ledger& ledger;
    // The host that owns these worktrees.
    std::string host;
    // A folder private to Reeve.
    std::filesystem::path scratch;
    base::TimeLimit expiry = base::TimeLimit::off();
    // Secrets of an execution whose settings were not passed in since the start; null if they are no longer known.
    std::function<std::shared_ptr<const base::SecretSet>(base::ExecutionId root)> find_secrets = [](base::ExecutionId) {
      return nullptr;
    };
    // Whether this instance handles executions whose branch is on a remote; each kind has its own instance and thread.
    bool is_shared = false;
    // The ssh agent of the user who started the execution, for Remote::Access.
    std::function<std::string(base::ExecutionId root)> find_ssh_agent = [](base::ExecutionId) { return ""; };
    // Checked while waiting for the network.
    std::function<bool()> gives_up = [] { return false; };
    // Waits between two attempts to reach a remote.
    std::function<void(base::Milliseconds)> pause = [](base::Milliseconds) {};
    // Logs errors that fail no request.
    std::function<void(const std::string&)> log_warning = [](const std::string&) {};
    // For tests: where the process may die.
    std::function<void(const char*)> crash_point = [](const char*) {};
  };
  explicit IsolationSteps(Options options) : options_(std::move(options)) {}

  // Same contracts as in class Isolation; these throw base::Error.
  Isolation::Survey survey(const std::string& project);
  void check_remote(const std::string& project, const RemoteOptions& options);
  void share(const IsolationSettings& settings, base::ExecutionId root);
  std::string migrate(const IsolationSettings& settings, base::ExecutionId root);
  // A folder that may still need set_up_worktree(), which uses no git, may take long and can run on any thread. Until
  // it has finished, nothing else may be done for the same node, and the execution may not be closed.
  struct Begun {
    std::string folder;
    std::optional<SetupPlan> setup;
    // Only for throwaway checkouts.
    std::string commit = {};
    std::string tree = {};
  };
  // Nothing while another task holds the shared worktree. After the setup, finish_prepare() makes the worktree ready
  // and returns its folder.
  std::optional<Begun> begin_prepare(const IsolationSettings& settings, const NodeAttemptId& place);
  std::string finish_prepare(const IsolationSettings& settings, const NodeAttemptId& place);
  // Checkouts need no finishing step.
  Begun begin_checkout(const IsolationSettings& settings, const NodeAttemptId& place,
                       const std::optional<std::string>& commit, const std::string& name);
  Begun begin_merge_checkout(const IsolationSettings& settings, const Isolation::GateCheck& check,
                             const std::string& gate);
  // begin_prepare(), the setup and finish_prepare() in one call.
  std::optional<std::string> prepare(const IsolationSettings& settings, const NodeAttemptId& place);
  Isolation::Collected collect(const IsolationSettings& settings, const NodeAttemptId& place);
  std::string checkout(const IsolationSettings& settings, const NodeAttemptId& place,
                       const std::optional<std::string>& commit, const std::string& name);
  void discard(const IsolationSettings& settings, const std::string& folder);
  void set_back(const IsolationSettings& settings, const NodeAttemptId& place);
  Begun begin_renewal(const IsolationSettings& settings, base::ExecutionId root, const Isolation::Checkout& checkout);
  Isolation::Accepted accept(const IsolationSettings& settings, const NodeAttemptId& place);
  void reject(const IsolationSettings& settings, const NodeAttemptId& place, model::PatchState state,
              const std::string& reason);
  void withdraw(const IsolationSettings& settings, const NodeAttemptId& place, const std::string& reason);
  void close(base::ExecutionId root);

  // If the result has `check`, run those gates and call again.
  Isolation::Applied apply(base::ExecutionId root, model::ApplyWhen mode);
  Isolation::Applied apply_patch(base::PatchId id, const std::string& by);
  // Called when a gate did not pass: queued patches stay queued, with the reason.
  Isolation::Applied hold_back(base::ExecutionId root, const std::string& why);
  Isolation::Applied hold_back(base::PatchId id, const std::string& why);
  // Why a gate blocked the last attempt to apply `name` ("EX-9", "PA-3"), if one did.
  std::optional<std::string> find_refusal(base::ExecutionId root, const std::string& name);
  // The checkout that the changes are applied to; empty if unknown here.
  std::string find_checkout(base::ExecutionId root);
  std::optional<model::ExecutionStatus> find_status(base::ExecutionId root);
  // Whether changes are on the branch but not in the checkout.
  bool has_waiting(base::ExecutionId root);
  model::Patch get_patch(base::PatchId id);
  model::Patch act(base::PatchId id, Isolation::PatchAction action, const std::string& by);

  // Whether the patch belongs to an execution whose branch is on a remote.
  bool is_of_shared(base::PatchId id);

  // Ended executions of this host whose worktrees still exist.
  std::vector<base::ExecutionId> find_left();
  // Whether its worktrees have been removed.
  bool is_closed(base::ExecutionId root);
  // Executions whose branch was being applied to the checkout, and those whose apply was approved.
  std::vector<base::ExecutionId> find_queued();
  std::vector<base::ExecutionId> find_granted();
  // Whether everything that waits on its branch is queued.
  bool is_queued(base::ExecutionId root);
  // Single patches that were being applied for a person.
  std::vector<base::PatchId> find_queued_patches();
  // ISO-3: completes or undoes checkout updates that were interrupted by a kill.
  void recover_checkouts();

 private:
  // The repository of one execution.
  struct Site {
    git::Repository& repository;
    store::BranchRow branch;
    // The project's path on this host.
    std::string project;
    base::ExecutionId root() const noexcept { return branch.root; }
  };

  // The result of writing a change into the user's checkout; a git ref keeps the change until it is there.
  struct Landing {
    enum class Kind { landed, conflicted, refused, unchecked };
    Kind kind = Kind::landed;
    std::string commit;
    std::vector<std::string> conflicts;
    base::Error why{"", ""};
    std::optional<Isolation::GateCheck> check = {};
  };
  struct Target {
    // Keeps the commit alive until it is in the checkout.
    std::string ref;
    // See GateCheck; empty means that no gate runs.
    std::string name;
    // Makes the commit to move the checkout to, given its current one.
    std::function<git::Repository::Merged(const std::string& head)> make;
  };

  std::filesystem::path setup_locks() const { return options_.scratch / "setups"; }
  // Ends processes that a setup left running in that worktree.
  void end_setup_in(const std::string& folder_name);
  git::Repository& open_repository(const std::string& project);
  Isolation::Collected collect(Site& site, const NodeAttemptId& place);
  void reject(Site& site, const NodeAttemptId& place, model::PatchState state, const std::string& reason);
  model::Patch make_patch(Site& site, const NodeAttemptId& place, const store::WorktreeRow& row,
                          const std::optional<std::string>& raw);
  Site open_site(const IsolationSettings& settings, base::ExecutionId root);
  std::optional<Site> find_site(base::ExecutionId root);
  // Whether the execution was started on another host and migrated here through a remote.
  bool is_guest(base::ExecutionId root);
  // Whether this host and this instance handle the branch.
  bool is_ours(const store::BranchRow& branch) const;
  void settle_branch(Site& site);
  void check_branch_free(Site& site, const std::optional<std::string>& current);

  // In runtime/isolation/isolation_remote.cpp. Pushes the commit to the remote and records that in the store.
  void publish(Site& site, const std::string& commit);
  void settle_sending(Site& site, git::Remote& remote);
  void write_pushed(Site& site, const std::optional<std::string>& pushed, const std::optional<std::string>& sending);
  // Deletes the branch on the remote.
  void unpublish(Site& site);
  git::Remote open_remote(git::Repository& repository, base::ExecutionId root, const std::string& name);
  // Retries a few times if the remote cannot be reached.
  void with_tries(const std::function<void()>& act);
  // Takes the branch of an ended execution back from the host that last owned it.
  void come_home(store::BranchRow& branch);
  void close_guest(base::ExecutionId root);
  void remove_worktrees(Site& site);

  std::filesystem::path folder_of(Site& site, const std::string& name);
  bool is_there(Site& site, const store::WorktreeRow& row);
  std::string task_folder(Site& site, const std::string& name);
  void make_worktree(Site& site, const std::string& name, const std::string& commit);
  Begun make_checkout(const IsolationSettings& settings, Site& site, const std::string& words,
                      const std::string& commit);
  SetupPlan plan_setup(const IsolationSettings& settings, Site& site, const std::string& name);
  // Nothing while another task holds it.
  std::optional<store::WorktreeRow> choose_worktree(Site& site, const NodeAttemptId& place);
  static bool needs_setup(const IsolationSettings& settings);
  // True if the worktree must be set up before it is ready.
  bool hand_out(const IsolationSettings& settings, Site& site, store::WorktreeRow& row,
                const store::WorktreeLease& holder);
  void make_ready(Site& site, store::WorktreeRow& row);
  void keep_rest(Site& site, store::WorktreeRow& row);
  void keep_half(Site& site, const NodeAttemptId& place, store::WorktreeRow& row);
  int count_patches(base::ExecutionId root, const std::string& node);
  void evict(Site& site, const NodeAttemptId& place);
  std::vector<store::WorktreeRow> list_rows(base::ExecutionId root);
  void write_row(base::ExecutionId root, const store::WorktreeRow& row);
  std::optional<store::WorktreeRow> find_held(Site& site, const NodeAttemptId& place);
  std::optional<store::PatchRow> find_patch(const NodeAttemptId& place);
  void release(Site& site, const NodeAttemptId& place);
  // Logs git errors instead of failing: the merge is done, and cleanup is repeated when next needed.
  void release_quietly(Site& site, const NodeAttemptId& place);
  void quietly(const std::string& what, const std::function<void()>& act);
  void sweep_orphans(git::Repository& repository);
  std::vector<std::string> find_left_out(Site& site, const NodeAttemptId& place, const Isolation::Collected& collected);
  void tidy(Site& site, store::WorktreeRow row);
  base::PatchId keep_patch(Site& site, model::Patch patch, const store::WorktreeRow& row,
                           const std::optional<ledger::PatchMove>& then = {});
  // LOG-4: redacts a diff for storage and display; git keeps the original.
  std::string hide_secrets(base::ExecutionId root, const std::string& diff);
  void keep_commit(Site& site, const std::string& ref, const std::string& commit);
  void forget_commit(Site& site, const std::string& ref);

  struct Asking {
    Isolation::Applied answer;
    bool may_go_on = false;
  };
  Asking ask_person(Site& site, const std::vector<store::PatchRow>& patches, model::ApplyWhen mode);
  Isolation::Applied bring_in(Site& site, const std::vector<store::PatchRow>& patches);
  // Called with the checkout lock held.
  Landing land(Site& site, const Target& target);
  Landing write_checkout(Site& site, const Target& target, const std::string& commit);
  std::optional<base::Error> find_unclean(Site& site);
  // ISO-3: the gates that have not passed on that commit's tree.
  std::optional<Isolation::GateCheck> find_check(Site& site, const Target& target, const std::string& commit);
  Isolation::Applied apply_patch(Site& site, const model::Patch& patch, const std::string& by);
  Site get_site(const model::Patch& patch);
  // Removes the change of a node that was cancelled after its change was merged.
  void take_back(Site& site, const model::Patch& patch, const std::string& reason);
  // Does this for all cancelled nodes: a daemon that died between cancelling and withdrawing left it undone.
  void take_back_cancelled(Site& site);
  // Removes the patch from the branch. If later changes build on it, nothing is changed and the conflicting paths are
  // returned.
  std::vector<std::string> take_out(Site& site, const model::Patch& patch, const ledger::PatchMove& move);
  model::Patch drop_patch(Site& site, const model::Patch& patch, const std::string& by);
  model::Patch roll_back_patch(Site& site, const model::Patch& patch, const std::string& by);
  model::Patch move(base::PatchId id, const ledger::PatchMove& move);

  template <class Act>
  auto call(Act act) {
    return options_.ledger.call([act](ledger::Transaction& transaction) { return act(transaction); });
  }
  template <class Act>
  auto in_store(Act act) {
    return options_.ledger.call([act](ledger::Transaction& transaction) { return act(transaction.session()); });
  }

  Options options_;
  // Whether setups left running by an earlier daemon have been ended.
  bool has_ended_setups_ = false;
  std::map<std::string, git::Repository> repositories_;
  std::map<base::ExecutionId, std::shared_ptr<const base::SecretSet>> secrets_;
  // Ssh agents of executions whose settings were passed in.
  std::map<base::ExecutionId, std::string> ssh_agents_;
};

}  // namespace reeve::runtime
