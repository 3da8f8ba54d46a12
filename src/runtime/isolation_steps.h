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
#include "runtime/isolation.h"
#include "runtime/worktree_setup.h"
#include "store/branches.h"

namespace reeve::runtime {

// What isolation does, step by step: git and the store in turns, blocking. The store says what is so, git follows it:
// each step can be done again, and what a crash left half done is done anew. Called on one thread alone.
class IsolationSteps {
 public:
  struct Options {
    ledger::Ledger& ledger;
    // Whose worktrees these are.
    std::string host;
    // Private to Reeve.
    std::filesystem::path scratch;
    base::TimeLimit expiry = base::TimeLimit::off();
    // Of an execution whose ground was not named since the start; null when nobody knows them any more.
    std::function<std::shared_ptr<const base::SecretSet>(base::ExecutionId root)> find_secrets = [](base::ExecutionId) {
      return nullptr;
    };
    // Those of executions whose branch goes by a remote, or the others: each kind has steps, and a thread, of its own.
    bool is_shared = false;
    // The ssh agent of whoever started it, as Remote::Access has it.
    std::function<std::string(base::ExecutionId root)> find_ssh_agent = [](base::ExecutionId) { return ""; };
    // Looked at while the network is waited for.
    std::function<bool()> gives_up = [] { return false; };
    // Between two tries to reach a remote.
    std::function<void(base::Milliseconds)> pause = [](base::Milliseconds) {};
    // What went wrong and fails nothing.
    std::function<void(const std::string&)> complain = [](const std::string&) {};
    // For tests: where the process may die.
    std::function<void(const char*)> crash_point = [](const char*) {};
  };
  explicit IsolationSteps(Options options) : options_(std::move(options)) {}

  // As class Isolation has them; they throw base::Error.
  Isolation::Survey survey(const std::string& project);
  void check_remote(const std::string& project, const RemoteWish& wish);
  void share(const IsolationGround& ground, base::ExecutionId root);
  std::string visit(const IsolationGround& ground, base::ExecutionId root);
  // A folder in which something may be left to do that needs no git and takes its time: set_up_worktree(), on whatever
  // thread. Meanwhile nothing else may be done for the same node, nor the execution be closed.
  struct Begun {
    std::string folder;
    std::optional<SetupPlan> setup;
    // Of a throwaway checkout.
    std::string commit = {};
    std::string tree = {};
  };
  // Nothing while another has the worktree that it shares. What was set up is finished afterwards, and only then handed
  // out.
  std::optional<Begun> begin_prepare(const IsolationGround& ground, const NodePlace& place);
  std::string finish_prepare(const IsolationGround& ground, const NodePlace& place);
  // Nothing is to be finished here.
  Begun begin_checkout(const IsolationGround& ground, const NodePlace& place, const std::optional<std::string>& commit,
                       const std::string& name);
  Begun begin_merge_checkout(const IsolationGround& ground, const Isolation::GateCheck& check, const std::string& gate);
  // Both halves and what lies between.
  std::optional<std::string> prepare(const IsolationGround& ground, const NodePlace& place);
  Isolation::Collected collect(const IsolationGround& ground, const NodePlace& place);
  std::string checkout(const IsolationGround& ground, const NodePlace& place, const std::optional<std::string>& commit,
                       const std::string& name);
  void discard(const IsolationGround& ground, const std::string& folder);
  void set_back(const IsolationGround& ground, const NodePlace& place);
  Begun begin_renewal(const IsolationGround& ground, base::ExecutionId root, const Isolation::Checkout& checkout);
  Isolation::Accepted accept(const IsolationGround& ground, const NodePlace& place);
  void reject(const IsolationGround& ground, const NodePlace& place, model::PatchState state,
              const std::string& reason);
  void withdraw(const IsolationGround& ground, const NodePlace& place, const std::string& reason);
  void close(base::ExecutionId root);

  // With `check` the gates are to be asked first, and then this again.
  Isolation::Applied apply(base::ExecutionId root, model::ApplyWhen mode);
  Isolation::Applied apply_patch(base::PatchId id, const std::string& by);
  // A gate did not pass: what is queued stays queued, with the reason.
  Isolation::Applied hold_back(base::ExecutionId root, const std::string& why);
  Isolation::Applied hold_back(base::PatchId id, const std::string& why);
  // Why a gate held it back when it was last tried ("EX-9", "PA-3"), if one did.
  std::optional<std::string> find_refusal(base::ExecutionId root, const std::string& name);
  // The folder of the checkout into which it goes; empty when nothing is known of it.
  std::string find_checkout(base::ExecutionId root);
  std::optional<model::ExecutionStatus> find_status(base::ExecutionId root);
  // Something of it is on its branch and not in the checkout.
  bool has_waiting(base::ExecutionId root);
  model::Patch get_patch(base::PatchId id);
  model::Patch act(base::PatchId id, Isolation::PatchAction action, const std::string& by);

  // Whether the patch is of an execution whose branch goes by a remote.
  bool is_of_shared(base::PatchId id);

  // Executions of this host that are over and whose worktrees are not gone.
  std::vector<base::ExecutionId> find_left();
  // Its worktrees are gone.
  bool is_closed(base::ExecutionId root);
  // Those whose branch was on its way into the checkout, and those of which a person said that it may go there.
  std::vector<base::ExecutionId> find_queued();
  std::vector<base::ExecutionId> find_granted();
  // All that waits on its branch is on its way.
  bool is_queued(base::ExecutionId root);
  // Single patches that were on their way for a person.
  std::vector<base::PatchId> find_queued_patches();
  // ISO-3: what a kill left half done in checkouts is completed or taken back.
  void recover_checkouts();

 private:
  // A repository at work for one execution.
  struct Site {
    git::Repository& repository;
    store::BranchRow branch;
    // Here.
    std::string project;
    base::ExecutionId root() const noexcept { return branch.root; }
  };

  // Where a change of the person's checkout is on its way: remembered in git until it is there.
  struct Landing {
    enum class Kind { landed, conflicted, refused, unchecked };
    Kind kind = Kind::landed;
    std::string commit;
    std::vector<std::string> conflicts;
    base::Error why{"", ""};
    std::optional<Isolation::GateCheck> check = {};
  };
  struct Target {
    // Keeps the commit until it is there.
    std::string ref;
    // As GateCheck has it; empty: no gate is asked.
    std::string name;
    // The commit that the checkout is to be at, from the one it is at.
    std::function<git::Repository::Merged(const std::string& head)> make;
  };

  std::filesystem::path setup_locks() const { return options_.scratch / "setups"; }
  // What a setup left running in the worktree of that folder ends.
  void end_setup_in(const std::string& folder_name);
  git::Repository& open_repository(const std::string& project);
  Isolation::Collected collect(Site& site, const NodePlace& place);
  void reject(Site& site, const NodePlace& place, model::PatchState state, const std::string& reason);
  model::Patch make_patch(Site& site, const NodePlace& place, const store::WorktreeRow& row,
                          const std::optional<std::string>& raw);
  Site open_site(const IsolationGround& ground, base::ExecutionId root);
  std::optional<Site> find_site(base::ExecutionId root);
  // It was started at another host, and came here by a remote.
  bool is_guest(base::ExecutionId root);
  // Of this host, and of those that this does.
  bool is_ours(const store::BranchRow& branch) const;
  void settle_branch(Site& site);
  void check_branch_free(Site& site, const std::optional<std::string>& current);

  // runtime/isolation_remote.cpp. The remote has that commit afterwards, and the store says so.
  void publish(Site& site, const std::string& commit);
  void settle_sending(Site& site, git::Remote& remote);
  void write_pushed(Site& site, const std::optional<std::string>& pushed, const std::optional<std::string>& sending);
  // Away with the branch there.
  void unpublish(Site& site);
  git::Remote open_remote(git::Repository& repository, base::ExecutionId root, const std::string& name);
  // Again a few times when it cannot be reached.
  void with_tries(const std::function<void()>& act);
  // It is over, and was last worked on elsewhere.
  void come_home(store::BranchRow& branch);
  void close_guest(base::ExecutionId root);
  void remove_worktrees(Site& site);

  std::filesystem::path folder_of(Site& site, const std::string& name);
  bool is_there(Site& site, const store::WorktreeRow& row);
  std::string task_folder(Site& site, const std::string& name);
  void make_worktree(Site& site, const std::string& name, const std::string& commit);
  Begun make_checkout(const IsolationGround& ground, Site& site, const std::string& words, const std::string& commit);
  SetupPlan plan_setup(const IsolationGround& ground, Site& site, const std::string& name);
  // Nothing while another has it.
  std::optional<store::WorktreeRow> choose_worktree(Site& site, const NodePlace& place);
  static bool needs_setup(const IsolationGround& ground);
  // Whether it is to be set up before it is ready.
  bool hand_out(const IsolationGround& ground, Site& site, store::WorktreeRow& row,
                const store::WorktreeHolder& holder);
  void make_ready(Site& site, store::WorktreeRow& row);
  void keep_rest(Site& site, store::WorktreeRow& row);
  void keep_half(Site& site, const NodePlace& place, store::WorktreeRow& row);
  int count_patches(base::ExecutionId root, const std::string& node);
  void evict(Site& site, const NodePlace& place);
  std::vector<store::WorktreeRow> list_rows(base::ExecutionId root);
  void write_row(base::ExecutionId root, const store::WorktreeRow& row);
  std::optional<store::WorktreeRow> find_held(Site& site, const NodePlace& place);
  std::optional<store::PatchRow> find_patch(const NodePlace& place);
  void release(Site& site, const NodePlace& place);
  // What was merged is merged: git may fail over the rest, which is done when it is next needed.
  void release_quietly(Site& site, const NodePlace& place);
  void quietly(const std::string& what, const std::function<void()>& act);
  void sweep_orphans(git::Repository& repository);
  std::vector<std::string> find_left_out(Site& site, const NodePlace& place, const Isolation::Collected& collected);
  void tidy(Site& site, store::WorktreeRow row);
  base::PatchId keep_patch(Site& site, model::Patch patch, const store::WorktreeRow& row,
                           const std::optional<ledger::PatchMove>& then = {});
  // LOG-4: a diff as it is stored and shown; git has it as it is.
  std::string hide_secrets(base::ExecutionId root, const std::string& diff);
  void keep_commit(Site& site, const std::string& ref, const std::string& commit);
  void forget_commit(Site& site, const std::string& ref);

  struct Asking {
    Isolation::Applied answer;
    bool may_go_on = false;
  };
  Asking ask_person(Site& site, const std::vector<store::PatchRow>& patches, model::ApplyWhen mode);
  Isolation::Applied bring_in(Site& site, const std::vector<store::PatchRow>& patches);
  // Under the lock of the checkout.
  Landing land(Site& site, const Target& target);
  Landing write_checkout(Site& site, const Target& target, const std::string& commit);
  std::optional<base::Error> find_unclean(Site& site);
  // ISO-3: those that have not said yes to what that commit has in it.
  std::optional<Isolation::GateCheck> find_check(Site& site, const Target& target, const std::string& commit);
  Isolation::Applied apply_patch(Site& site, const model::Patch& patch, const std::string& by);
  Site get_site(const model::Patch& patch);
  // Of a node that was cancelled after its change went into the branch.
  void take_back(Site& site, const model::Patch& patch, const std::string& reason);
  // Of all of them: a daemon that died between a cancellation and its withdrawal has left that undone.
  void take_back_cancelled(Site& site);
  // Out of the branch that it was taken into. Where later ones build on it nothing is changed, and the paths are told.
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
  // Those that a daemon before this one left running.
  bool has_ended_setups_ = false;
  std::map<std::string, git::Repository> repositories_;
  std::map<base::ExecutionId, std::shared_ptr<const base::SecretSet>> secrets_;
  // Of executions whose ground was named.
  std::map<base::ExecutionId, std::string> ssh_agents_;
};

}  // namespace reeve::runtime
