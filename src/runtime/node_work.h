#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution.h"
#include "ledger/executions.h"
#include "runtime/execution_ground.h"
#include "runtime/isolation.h"
#include "runtime/node_plan.h"
#include "runtime/sandbox.h"
#include "runtime/supervisor.h"

namespace reeve::runtime {

// Where the run of a task works, by what it carries.
NodePlace place_of(const model::Run& run, base::ExecutionId root);

// A claimed task or gate on its way to its end: a place to work, its run, what it changed, its gates. Every step can be
// done again: after a crash the next daemon goes on from the last run that the store knows. Lives on the loop.
class NodeWork : public std::enable_shared_from_this<NodeWork> {
 public:
  struct Helpers {
    Surroundings& around;
    Supervisor& supervisor;
    SandboxProbe& sandbox;
    Isolation& isolation;
  };
  struct Start {
    ledger::StartWork work;
    std::shared_ptr<const ExecutionGround> ground;
    base::ExecutionId root{0};
  };
  // Made in the transaction that concludes the claim.
  using Event = std::function<engine::ExecutionEvent(ledger::Transaction&)>;
  struct Events {
    // How it ended; once. Not after cancel().
    std::function<void(Event)> over;
    // The claim is another's: nothing is to be concluded.
    std::function<void()> lost;
    // It has its place to work: calls once there is room for its run (RUN-14).
    std::function<void(std::function<void()>)> placed;
    // It has another run, or takes up room where it did not, or no more.
    std::function<void()> changed;
  };

  NodeWork(Helpers helpers, Start start, Events events);
  NodeWork(const NodeWork&) = delete;
  NodeWork& operator=(const NodeWork&) = delete;

  void begin();
  // After a crash: from its last run on. `runs` are all of the node, in their order.
  void resume(const std::vector<model::Run>& runs);
  // GRF-13: its last run was another host's, of which nothing lives any more. Calls when it is this daemon's, or over.
  void take_over(const model::Run& last, std::function<void(NodeWork&)> done);
  void see(const model::Run& run);
  // Its node is over: whatever it does ends. Calls when nothing of it runs any more, and what it changed was taken.
  void cancel(const std::string& reason, std::function<void()> done);

  const ledger::Claim& claim() const noexcept { return start_.work.claim; }
  base::ExecutionId root() const noexcept { return start_.root; }
  const std::optional<base::RunId>& run() const noexcept { return run_; }
  // Whether it counts for max_parallel_runs: what waits for a person does not (RUN-14), nor what waits for its place.
  bool is_busy() const noexcept { return !is_over_ && !is_waiting_ && !is_preparing_; }
  // Its worktree is being made and set up, or is another's for the moment.
  bool is_preparing() const noexcept { return !is_over_ && is_preparing_; }

 private:
  const model::Node& node() const;
  const model::TaskConfig* task() const { return node().task_config ? &*node().task_config : nullptr; }
  bool is_isolated() const;
  IsolationGround isolation_ground() const;
  NodePlace place() const;

  void begin_where_it_failed();
  void take_over_isolated(const model::Run& last, std::function<void(NodeWork&)> done);
  void take_over_run(const model::Run& last, RunPlan plan, std::function<void(NodeWork&)> done);
  void prepare();
  void start_task(const std::string& folder);
  void start_run(RunPlan plan);
  void launch(RunPlan plan);
  void launch_later(RunPlan plan, const base::Error& error);
  void see_end(const model::Run& run);
  void see_task_end(const model::Run& run);
  void collect();

  // runtime/node_gates.cpp.
  struct Verdict {
    std::string gate;
    base::Value outputs;
    bool passed = false;
    bool is_warning = false;
  };
  void begin_gates();
  void next_gate();
  void start_gate(const std::string& gate, const Isolation::Checkout& checkout);
  void see_gate_end(const model::Run& run);
  bool may_try_again(const std::string& gate) const;
  // How often the task has been begun: by itself and by gates that sent it back (GRF-14).
  std::int64_t tries() const noexcept { return claim().attempt + round_; }
  void gates_passed();
  void accept();
  void apply();
  void apply_now();

  struct Failure {
    std::string error;
    model::RetryOn kind = model::RetryOn::failed;
    bool is_final = false;
    // What becomes of what it changed.
    model::PatchState patch = model::PatchState::quarantined;
  };
  void begin_later(const base::Error& error);
  void fail(const Failure& failure);
  void fail(const base::Error& error);
  void finish(bool said_yes, const std::string& why_no);
  void end(Event event);
  // Calls `then` with what it was asked for while this is still wanted; what went wrong fails the node.
  template <class T, class Then>
  auto guarded(Then then) {
    return [weak = weak_from_this(), then](std::expected<T, base::Error> answer) {
      const auto self = weak.lock();
      if (!self || self->is_over_) return;
      if (answer) return then(*self, std::move(*answer));
      // Nothing has happened, and nothing has failed: from the beginning, as after a restart.
      if (answer.error().code().starts_with("store.")) return self->begin_later(answer.error());
      self->fail(answer.error());
    };
  }

  Helpers helpers_;
  Start start_;
  Events events_;
  bool is_over_ = false;
  bool is_waiting_ = false;
  bool is_preparing_ = false;
  // Whose run it is: the task's, or of the gate at `gate_`.
  bool is_at_gate_ = false;
  std::optional<base::RunId> run_;
  // While a run is on its way: what is to be done once it is known, and ended, when this was cancelled meanwhile.
  std::shared_ptr<std::function<void()>> launching_;
  // The task's own, once it is over.
  std::optional<model::Run> task_run_;
  // How often a gate has sent the task back.
  int round_ = 0;
  std::optional<std::string> feedback_;
  std::string folder_;
  // Here, when its run was begun in one of another host.
  std::optional<std::string> moved_folder_;
  std::string gate_folder_;
  std::optional<std::string> commit_;
  std::optional<base::PatchId> patch_;
  std::vector<std::string> files_;
  // Of what it changed, what is no part of its patch.
  std::vector<std::string> left_out_;
  std::vector<std::string> gates_;
  std::size_t gate_ = 0;
  // What each gate so far has said.
  std::vector<Verdict> verdicts_;
  // Gates of this round that were asked before a crash.
  std::map<std::string, model::Run> past_gates_;
  std::optional<std::string> applied_;
  Loop::Hold pause_;
};

}  // namespace reeve::runtime
