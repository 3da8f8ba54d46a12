#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution.h"
#include "ledger/executions.h"
#include "runtime/executions/node_plan.h"
#include "runtime/inbox/inbox.h"
#include "runtime/isolation/isolation.h"
#include "runtime/runs/sandbox.h"
#include "runtime/runs/supervisor.h"
#include "runtime/settings/execution_settings.h"

namespace reeve::runtime {

// Metadata that ties a run to a node, for people and for the next daemon.
inline constexpr const char* round_key = "round";
inline constexpr const char* iteration_key = "iteration";
inline constexpr const char* attempt_key = "node_attempt";

// The node attempt that a task's run belongs to, from the run's own fields.
NodeAttemptId place_of(const model::Run& run, base::ExecutionId root);

// Carries a claimed task or gate to its end: working folder, run, changes, gates. Every step can be repeated: after a
// crash, the next daemon continues from the last run in the store. Lives on the loop.
class NodeExecutor : public std::enable_shared_from_this<NodeExecutor> {
 public:
  struct Parts {
    RuntimeContext& context;
    Supervisor& supervisor;
    SandboxProbe& sandbox;
    Isolation& isolation;
  };
  struct Start {
    ledger::StartWork work;
    std::shared_ptr<const ExecutionSettings> settings;
    base::ExecutionId root{0};
  };

  // Reports to the inbox: NodeChanged, WorktreeReady, and once NodeWorkEnded or ClaimLost; nothing after cancel().
  NodeExecutor(Parts parts, Start start);
  NodeExecutor(const NodeExecutor&) = delete;
  NodeExecutor& operator=(const NodeExecutor&) = delete;

  void begin();
  // Continues from its last run after a crash. `runs` are all runs of the node, in order.
  void resume(const std::vector<model::Run>& runs);
  // GRF-13: its last run was on another host and no longer has live processes. Calls `done` once this daemon owns it,
  // or it has ended.
  void take_over(const model::Run& last, std::function<void(NodeExecutor&)> done);
  // There is a slot for its run in the folder of WorktreeReady.
  void start_in(const std::string& folder);
  void on_run_changed(const model::Run& run);
  // The node has ended: stops all work. Calls `done` when nothing of it runs and its changes were collected.
  void cancel(const std::string& reason, std::function<void()> done);

  const ledger::Claim& claim() const noexcept { return start_.work.claim; }
  base::ExecutionId root() const noexcept { return start_.root; }
  const std::optional<base::RunId>& run() const noexcept { return run_; }
  bool is_over() const noexcept { return is_over_; }
  // Whether it counts towards max_parallel_runs. Work that waits for a person (RUN-14) or for its working folder does
  // not.
  // A run that waits for a person, or for the end of a usage limit, uses no slot.
  static bool uses_no_slot(const model::Run& run) noexcept {
    return run.status == model::RunStatus::waiting_approval || run.status == model::RunStatus::queued;
  }
  bool is_busy() const noexcept { return !is_over_ && !is_waiting_ && !is_preparing_; }
  // Its worktree is being created or set up, or is held by another task.
  bool is_preparing() const noexcept { return !is_over_ && is_preparing_; }

 private:
  // Before something that the store refused is tried again.
  static constexpr base::Milliseconds store_pause = std::chrono::seconds(1);

  const model::Node& node() const;
  const model::TaskConfig* task() const { return node().task_config ? &*node().task_config : nullptr; }
  bool is_isolated() const;
  IsolationSettings isolation_settings() const;
  NodeAttemptId place() const;

  // In runtime/executions/node_recovery.cpp.
  void begin_where_it_failed();
  void take_over_isolated(const model::Run& last, std::function<void(NodeExecutor&)> done);
  void take_over_run(const model::Run& last, RunPlan plan, std::function<void(NodeExecutor&)> done);
  void begin_later(const base::Error& error);

  void prepare();
  void start_task(const std::string& folder);
  void start_run(RunPlan plan);
  void launch(RunPlan plan);
  void launch_later(RunPlan plan, const base::Error& error);
  void on_run_end(const model::Run& run);
  void on_task_end(const model::Run& run);
  void collect();

  // In runtime/executions/node_gates.cpp.
  struct Verdict {
    std::string gate;
    base::Value outputs;
    bool passed = false;
    bool is_warning = false;
  };
  void begin_gates();
  void next_gate();
  void start_gate(const std::string& gate, const Isolation::Checkout& checkout);
  void on_gate_end(const model::Run& run);
  bool may_try_again(const std::string& gate) const;
  // How often the task was started: its attempts, plus the rounds that gates sent back (GRF-14).
  std::int64_t tries() const noexcept { return claim().attempt + round_; }
  void gates_passed();
  void accept();
  void apply();
  void apply_now();

  struct Failure {
    std::string error;
    model::RetryOn kind = model::RetryOn::failed;
    bool is_final = false;
    // The state its patch moves to.
    model::PatchState patch = model::PatchState::quarantined;
  };
  void fail(const Failure& failure);
  void fail(const base::Error& error);
  void finish(bool said_yes, const std::string& why_no);
  // Creates the event within the transaction that concludes the claim.
  using MakeEvent = std::function<engine::ExecutionEvent(ledger::Transaction&)>;
  void end(MakeEvent make_event);
  void report_change() { parts_.context.inbox.post(NodeChanged{claim()}); }
  // Calls `then` with the result if this work is still wanted; an error fails the node.
  template <class T, class Then>
  auto guarded(Then then) {
    return [weak = weak_from_this(), then](std::expected<T, base::Error> answer) {
      const auto self = weak.lock();
      if (!self || self->is_over_) return;
      if (answer) return then(*self, std::move(*answer));
      // Nothing was changed: start over, as after a restart.
      if (answer.error().is_in(base::ErrorArea::store)) return self->begin_later(answer.error());
      self->fail(answer.error());
    };
  }

  Parts parts_;
  Start start_;
  bool is_over_ = false;
  bool is_waiting_ = false;
  bool is_preparing_ = false;
  // Whether the run is that of the gate at `gate_` rather than the task's.
  bool is_at_gate_ = false;
  std::optional<base::RunId> run_;
  // Set while a run is being launched: what to do once that run is known and ended, if this was cancelled in the
  // meantime.
  std::shared_ptr<std::function<void()>> launching_;
  // The task's own run, once it has ended.
  std::optional<model::Run> task_run_;
  // How often a gate has sent the task back.
  int round_ = 0;
  std::optional<std::string> feedback_;
  std::string folder_;
  // The folder on this host, if the run began on another host.
  std::optional<std::string> moved_folder_;
  std::string gate_folder_;
  // The task's changes.
  Isolation::Collected collected_;
  std::vector<std::string> gates_;
  std::size_t gate_ = 0;
  // The results of the gates so far.
  std::vector<Verdict> verdicts_;
  // Gates of this round that ran before a crash.
  std::map<std::string, model::Run> past_gates_;
  std::optional<std::string> applied_;
  Loop::Hold pause_;
};

}  // namespace reeve::runtime
