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

namespace reeve::runtime {

struct Surroundings;

// Which attempt of which node works there. `root` is the execution that owns branch and worktree; nodes of subgraphs
// work on their root's.
struct NodePlace {
  base::ExecutionId root{0};
  base::ExecutionId execution{0};
  std::string node;
  int iteration = 0;
  int attempt = 0;
  // Those that name the same share a worktree, one at a time.
  std::optional<std::string> worktree_id;
  friend bool operator==(const NodePlace&, const NodePlace&) = default;
};

// Frozen when the execution starts.
struct IsolationGround {
  std::string project;
  // Nothing: no isolation, everything happens in the project folder.
  std::optional<std::string> base_commit;
  model::WorktreeSettings worktree;
  // Of the commands of `setup`.
  std::map<std::string, std::string> environment;
  // LOG-4: what is never shown, beside the values of variables whose names say that they are secret.
  std::vector<std::string> secrets;
  friend bool operator==(const IsolationGround&, const IsolationGround&) = default;
};

// Where the branch of an execution is to be pushed and fetched.
struct RemoteWish {
  // A remote of the project's repository, or a URL or path.
  std::string name;
  // Of the person who starts it; empty: none.
  std::string ssh_agent;
};

// Branches, worktrees and patches of executions (ISO-1 … ISO-5). git is slow: one thread does everything, in the order
// in which it was asked, but for the setups of worktrees, which each have their own, and for executions whose branch
// goes by a remote, which have another: the network holds up nobody else. Answers come back on the loop. The daemon may
// die between any two steps, whoever asked asks again: every operation finds what it did before. Without a base commit
// everything is answered at once: the project folder, no patch, no conflict, nothing to apply.
class Isolation {
 public:
  template <class T>
  using Answer = std::function<void(std::expected<T, base::Error>)>;

  explicit Isolation(Surroundings& around);
  // Ends the thread behind the step it is at. No answer is given any more.
  ~Isolation();
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  // Before an execution starts. Errors: `git.no_commits`, `git.unsafe_folder`, `git.missing`, `git.branch_in_use`.
  struct Survey {
    // The commit it starts at; nothing outside git.
    std::optional<std::string> base_commit;
    // What the person has changed and not committed: no part of it.
    std::vector<std::string> dirty;
  };
  // With a remote also `git.no_remote`, `git.unsafe_remote`, `git.remote_failed`: it is there, and can be read.
  void survey(std::string project, std::optional<RemoteWish> remote, Answer<Survey> answer);

  // Pushes the branch as it is, so that other hosts can go on with it. What goes wrong is told again when it is needed.
  void share(const IsolationGround& ground, base::ExecutionId root);
  // Whether this host could be the home of an execution that is at home elsewhere: its branch is fetched, and is what
  // the store says. The commit. Errors: `git.remote_moved` and what survey() has.
  void visit(const IsolationGround& ground, base::ExecutionId root, Answer<std::string> answer);

  // The folder in which the task works: the execution's worktree when nobody else works in it, else one of its own from
  // the branch; the same `worktree_id` shares one, where the others wait their turn. Made and set up (`copy`, `setup`)
  // the first time. Asked again (after a crash) it is the same folder with what is in it. The place is the task's until
  // accept() or reject().
  void prepare(const IsolationGround& ground, NodePlace place, Answer<std::string> answer);

  // Its process is over: what it changed becomes a commit beside the branch and a patch `created`. Again: the same
  // patch, with what has changed since. Nothing changed: no patch.
  struct Collected {
    std::optional<base::PatchId> patch;
    std::optional<std::string> commit;
    std::vector<model::PatchFile> files;
    // What it changed and is no part of the patch: files that were set up for it, and may be full of secrets.
    std::vector<std::string> left_out;
  };
  // Errors: `git.worktree_gone`, `git.submodule_changed`.
  void collect(const IsolationGround& ground, NodePlace place, Answer<Collected> answer);

  // A throwaway checkout for a gate: of `commit`, or of the branch as it is. `name` tells the gates of one place apart;
  // asked again with the same name it is made anew.
  struct Checkout {
    std::string folder;
    // What is in it, as git names it; empty without isolation.
    std::string commit;
    std::string tree;
  };
  void checkout(const IsolationGround& ground, NodePlace place, std::optional<std::string> commit, std::string name,
                Answer<Checkout> answer);
  // The folder that checkout() gave.
  void discard(const IsolationGround& ground, std::string folder);

  // An attempt of the task was lost half-done, and nothing of it lives: its half becomes a `quarantined` patch, and the
  // worktree goes back to what the attempt was given. Nothing where it has no worktree.
  void set_back(const IsolationGround& ground, NodePlace place, Answer<void> answer);
  // The same for a gate: its checkout is made anew in the same folder.
  void renew_checkout(const IsolationGround& ground, base::ExecutionId root, const Checkout& checkout,
                      Answer<Checkout> answer);

  // Every gate passed: the task's commit goes into the branch, three-way when others were faster; patch `validated`. A
  // conflict is a result: patch `conflicted`, branch as it was.
  struct Accepted {
    bool is_conflict = false;
    std::vector<std::string> conflicts;
  };
  void accept(const IsolationGround& ground, NodePlace place, Answer<Accepted> answer);

  // A gate said no: `rejected`. The task failed or was cancelled: `quarantined`; what it changed and was not collected
  // is collected first. The branch stays as it was, the worktree goes back to it.
  void reject(const IsolationGround& ground, NodePlace place, model::PatchState state, std::string reason,
              Answer<void> answer);

  // Its node was cancelled: as reject(), and what of it is in the branch already is taken out again: `rejected`. Where
  // others have built on it, it stays and is noted.
  void withdraw(const IsolationGround& ground, NodePlace place, std::string reason, Answer<void> answer);

  // ISO-3: the branch into the person's checkout, under a lock, three-way, only when it is clean. `manual` does
  // nothing. A patch that touches `.reeve/` or an agent's own configuration always asks a person first, `on_approval`
  // every time: an approval of the execution whose yes applies.
  // Before it is written every gate that passed in this execution has said yes to the very tree that will be there: see
  // set_gates(). Applies into the same checkout are done one after the other.
  struct GateCheck {
    base::ExecutionId root{0};
    // "EX-9", or "PA-3" for a single patch.
    std::string name;
    std::string commit;
    std::string tree;
    std::vector<std::string> gates;
  };
  struct GateVerdict {
    // For people, with the name of the gate; nothing: all passed.
    std::optional<std::string> refusal;
  };
  struct Applied {
    // `held`: a gate did not pass; the patches stay `queued`.
    enum class Kind { nothing, applied, asked, refused, held };
    Kind kind = Kind::nothing;
    // For people; how to take the branch over when it was refused.
    std::string message;
    // Something of the execution waits on its branch, and may be applied later.
    bool waits = false;
    // Of a step on the way, never of an answer: the gates that have to be asked first.
    std::optional<GateCheck> check;
    // Of the checkout, when applied.
    std::optional<std::string> commit;
    // When asked.
    std::optional<base::ApprovalId> approval;
  };
  void apply(const IsolationGround& ground, base::ExecutionId root, model::ApplyWhen mode, Answer<Applied> answer);

  // A throwaway checkout of what is about to be written, for a gate. Also when the execution is over and closed.
  void check_out_merge(const IsolationGround& ground, const GateCheck& check, std::string gate,
                       Answer<Checkout> answer);
  // Who asks the gates, on the loop, and who ends what was asked under that name. Without: none is asked, nothing that
  // needs one is applied.
  struct GateHooks {
    std::function<void(GateCheck, Answer<GateVerdict>)> ask;
    std::function<void(const std::string& name)> cancel;
  };
  void set_gates(GateHooks hooks);

  // The execution is over: its worktrees go (uncommitted work becomes a patch first), the branch stays while something
  // of it is not in the checkout. False when that failed: to be asked again at the next start.
  void close(const IsolationGround& ground, base::ExecutionId root, std::function<void(bool)> done);

  // At start: what executions of this host that are over left behind goes, in whatever project, and applies that were
  // granted or on their way are done. `alive`: roots that are left alone beside those that the store says are not over.
  void begin(std::set<base::ExecutionId> alive, std::function<void()> done);

  // Whether something is asked of it that it has not done.
  bool is_busy() const noexcept;

  // Looks for branches of which a person said that they may go into the checkout, and tries again with those that git
  // did not let through.
  void apply_granted();
  // Told of each question whether one may.
  void set_asked(std::function<void(const model::Approval&)> asked);

  // Single patches, for a person. Errors: `patch.not_found`, `patch.state`, `patch.conflicted`, `patch.gate_refused`,
  // `git.dirty`, ….
  enum class PatchAction { apply, drop, rollback };
  void act(base::PatchId patch, PatchAction action, std::string by, Answer<model::Patch> answer);

 private:
  class Core;
  static void act_in(Core& core, base::PatchId patch, PatchAction action, const std::string& by,
                     const Answer<model::Patch>& answer);
  Core& core_of(const IsolationGround& ground) { return ground.worktree.remote ? *shared_ : *core_; }
  std::unique_ptr<Core> core_;
  // Of executions whose branch goes by a remote.
  std::unique_ptr<Core> shared_;
};

}  // namespace reeve::runtime
