#include "runtime/executions/node_executor.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/inputs.h"
#include "ledger/claims.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_outputs.h"
#include "runtime/settings/gate_results.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Run;
using model::RunStatus;

// The tool's own error comes first, because listings cut long texts; for a run that did not end by itself, the reason
// of its end.
std::string describe_failure(const Run& run) {
  std::string text = fmt::format("{} {}", run.tool_run_id.text(), base::spell(run.status));
  if (run.reason) text += ": " + *run.reason;
  if (run.exit_code && *run.exit_code != 0) text += fmt::format(" (exit code {})", *run.exit_code);
  if (!run.last_error || run.last_error == run.reason) return text;
  const bool ended_itself = run.status == RunStatus::failed;
  return ended_itself ? fmt::format("{}; {}", *run.last_error, text) : fmt::format("{}: {}", text, *run.last_error);
}

}  // namespace

NodeExecutor::NodeExecutor(Parts parts, Start start) : parts_(parts), start_(std::move(start)) {}

const model::Node& NodeExecutor::node() const { return start_.work.workflow->workflow.nodes[claim().node]; }

bool NodeExecutor::is_isolated() const {
  if (!start_.settings->base_commit) return false;
  if (node().gate_config) return node().gate_config->requires_worktree;
  const auto role = start_.settings->roles.find(task()->role);
  return role == start_.settings->roles.end() || role->second.isolation != model::Isolation::none;
}

IsolationSettings NodeExecutor::isolation_settings() const { return make_isolation_settings(*start_.settings); }

NodeAttemptId NodeExecutor::place() const {
  return {.root = start_.root,
          .execution = claim().execution,
          .node = node().id,
          .iteration = claim().iteration,
          .attempt = claim().attempt,
          .worktree_id = task() != nullptr ? task()->worktree_id : std::nullopt};
}

void NodeExecutor::begin() {
  const bool has_run = task() != nullptr && task()->role != noop_role;
  const bool may_be_done = has_run && node().apply && is_isolated() && claim().attempt > 1;
  if (may_be_done) return begin_where_it_failed();
  if (has_run) return prepare();
  begin_gates();
}

void NodeExecutor::on_run_changed(const Run& run) {
  if (is_over_ || run.tool_run_id != run_) return;
  const bool was_waiting = is_waiting_;
  is_waiting_ = uses_no_slot(run);
  if (is_final(run.status)) return on_run_end(run);
  if (was_waiting != is_waiting_) report_change();
}

void NodeExecutor::cancel(const std::string& reason, std::function<void()> done) {
  if (std::exchange(is_over_, true)) return done();
  // Also without changes: a gate's checkout may be in preparation.
  const bool has_task = task() != nullptr && task()->role != noop_role;
  const bool has_place = is_isolated() && (has_task || gate_ < gates_.size());
  // Changes are collected once no process can modify them.
  const auto give_back = [parts = parts_, settings = isolation_settings(), place = place(), reason, has_place,
                          gate_folder = gate_folder_, done = std::move(done)] {
    if (!gate_folder.empty()) parts.isolation.discard(settings, gate_folder);
    if (!has_place) return done();
    parts.isolation.withdraw(settings, place, reason, [done](const auto&) { done(); });
  };
  if (launching_) {
    *launching_ = give_back;
    return;
  }
  if (!run_) return give_back();
  parts_.supervisor.cancel_and_wait(*run_, {.by = "reeve", .reason = reason}, give_back);
}

void NodeExecutor::prepare() {
  if (!is_isolated()) return start_task(start_.settings->project);
  is_preparing_ = true;
  report_change();
  parts_.isolation.prepare(isolation_settings(), place(),
                           guarded<std::string>([](NodeExecutor& self, const std::string& folder) {
                             self.parts_.context.inbox.post(WorktreeReady{self.claim(), folder});
                           }));
}

void NodeExecutor::start_in(const std::string& folder) {
  if (is_over_) return;
  is_preparing_ = false;
  start_task(folder);
}

void NodeExecutor::start_task(const std::string& folder) {
  folder_ = folder;
  is_at_gate_ = false;
  auto plan = plan_task(*start_.settings, node(), start_.work.inputs, {.folder = folder, .feedback = feedback_});
  if (!plan) return fail(plan.error());
  if (round_ > 0) plan->metadata.emplace(round_key, std::to_string(round_));
  start_run(std::move(*plan));
}

void NodeExecutor::start_run(RunPlan plan) {
  plan.execution = claim().execution;
  plan.node = node().id;
  if (claim().iteration > 0) plan.metadata.emplace(iteration_key, std::to_string(claim().iteration));
  if (claim().attempt > 1) plan.metadata.emplace(attempt_key, std::to_string(claim().attempt));
  if (plan.profile.sandbox != model::Sandbox::guard) return launch(std::move(plan));
  parts_.sandbox.ask(plan.cwd, [weak = weak_from_this(), plan](const std::optional<Error>& error) {
    const auto self = weak.lock();
    if (!self || self->is_over_) return;
    if (error) return self->fail(*error);
    self->launch(plan);
  });
}

void NodeExecutor::launch(RunPlan plan) {
  parts_.context.crash_point("node.before_start");
  // The node records the task's run; gate runs refer to it.
  const auto named = is_at_gate_ && task_run_ ? std::optional(task_run_->tool_run_id) : std::nullopt;
  const auto along = [claim = claim(), named](ledger::Transaction& transaction, base::RunId run) {
    if (!ledger::mark_spawned(transaction, claim, named.value_or(run))) {
      throw Error(ErrorCode::execution_claim_lost,
                  fmt::format("this daemon no longer owns {}", claim.execution.text()));
    }
  };
  launching_ = std::make_shared<std::function<void()>>();
  parts_.supervisor.start(
      plan, along,
      [weak = weak_from_this(), plan, &supervisor = parts_.supervisor,
       cancelled = launching_](std::expected<Run, Error> run) {
        const auto self = weak.lock();
        if (!self || self->is_over_) {
          const auto after = [cancelled] {
            if (*cancelled) (*cancelled)();
          };
          if (!run) return after();
          return supervisor.cancel_and_wait(run->tool_run_id, {.by = "reeve", .reason = "its node has ended"}, after);
        }
        self->launching_ = nullptr;
        if (run) {
          self->run_ = run->tool_run_id;
          self->report_change();
        } else if (run.error().is(ErrorCode::execution_claim_lost)) {
          self->is_over_ = true;
          self->parts_.context.inbox.post(ClaimLost{self->claim()});
        } else if (run.error().is_in(base::ErrorArea::store) || run.error().is(ErrorCode::run_no_descriptors)) {
          self->launch_later(plan, run.error());
        } else {
          self->fail(run.error());
        }
      });
}

// The store refused, or there was no capacity: nothing has begun or failed, so it is retried.
void NodeExecutor::launch_later(RunPlan plan, const Error& error) {
  parts_.context.log_warning(
      fmt::format("cannot start {} of {} yet: {}", base::quoted(node().id), claim().execution.text(), error.message()));
  Loop& loop = parts_.context.loop;
  pause_ = loop.at(loop.now() + store_pause, [weak = weak_from_this(), plan = std::move(plan)] {
    const auto self = weak.lock();
    if (self && !self->is_over_) self->launch(plan);
  });
}

void NodeExecutor::on_run_end(const Run& run) {
  run_.reset();
  is_waiting_ = false;
  if (is_at_gate_) return on_gate_end(run);
  on_task_end(run);
}

void NodeExecutor::on_task_end(const Run& run) {
  task_run_ = run;
  if (run.status == RunStatus::completed) return collect();
  // A person has refused or not answered; a retry would not be an answer. An agent that passes the gate, or is not
  // logged in, would do so again.
  const bool is_refused = run.status == RunStatus::cancelled || run.outcome == model::Outcome::denied ||
                          run.outcome == model::Outcome::ungated || run.outcome == model::Outcome::not_logged_in ||
                          run.reason == "approval expired";
  fail(
      Failure{.error = describe_failure(run),
              .kind = run.status == RunStatus::failed_timeout ? model::RetryOn::failed_timeout : model::RetryOn::failed,
              .is_final = is_refused});
}

void NodeExecutor::collect() {
  if (!is_isolated()) return begin_gates();
  parts_.isolation.collect(isolation_settings(), place(),
                           guarded<Isolation::Collected>([](NodeExecutor& self, const Isolation::Collected& collected) {
                             self.collected_ = collected;
                             self.begin_gates();
                           }));
}

void NodeExecutor::finish(bool said_yes, const std::string& why_no) {
  const graph::NodeIndex index = claim().node;
  if (task() == nullptr) {
    Value outputs = verdicts_.back().outputs;
    if (verdicts_.back().is_warning) outputs.set("warning", Value::boolean(true));
    return end([index, outputs, said_yes, why_no](ledger::Transaction&) -> engine::ExecutionEvent {
      return engine::NodeFinished{index, outputs, said_yes, why_no};
    });
  }
  Value own = Value::object();
  if (collected_.patch) own.set("patch", Value::string(collected_.patch->text()));
  if (is_isolated()) {
    Value::Array files;
    for (const model::PatchFile& file : collected_.files) files.push_back(Value::string(file.path));
    own.set("files", Value::array(std::move(files)));
    Value::Array left_out;
    for (const std::string& file : collected_.left_out) left_out.push_back(Value::string(file));
    if (!left_out.empty()) own.set("left_out", Value::array(std::move(left_out)));
  }
  if (!verdicts_.empty()) {
    Value gates = Value::object();
    for (const Verdict& verdict : verdicts_) gates.set(verdict.gate, verdict.outputs);
    own.set("gates", std::move(gates));
  }
  if (applied_) own.set("applied", Value::string(*applied_));
  std::vector<std::string> secrets;
  if (task_run_) {
    const auto plan = plan_task(*start_.settings, node(), start_.work.inputs, {.folder = folder_});
    if (plan) secrets = find_secrets(*plan);
  }
  end([&context = parts_.context, index, run = task_run_, inputs = start_.work.inputs, secrets,
       own](ledger::Transaction& transaction) -> engine::ExecutionEvent {
    Value outputs = inputs;
    if (run) {
      const auto result = ledger::find_result(transaction, run->tool_run_id, run->attempt);
      outputs = make_task_outputs(run_folder(context, run->tool_run_id), *run, {result, secrets});
    }
    if (outputs.as_object() == nullptr) outputs = Value::object();
    return engine::NodeFinished{index, engine::with_fields(std::move(outputs), own)};
  });
}

void NodeExecutor::fail(const Failure& failure) {
  const graph::NodeIndex index = claim().node;
  const bool is_spent = task() != nullptr && task()->retry && tries() >= task()->retry->attempts;
  const bool is_final = failure.is_final || is_spent;
  const MakeEvent event = [index, failure, is_final](ledger::Transaction&) -> engine::ExecutionEvent {
    return engine::NodeFailed{index, failure.kind, failure.error, is_final};
  };
  const bool has_place = is_isolated() && task() != nullptr && task()->role != noop_role;
  if (!has_place) return end(event);
  parts_.isolation.reject(isolation_settings(), place(), failure.patch, failure.error,
                          [weak = weak_from_this(), event](const std::expected<void, Error>&) {
                            const auto self = weak.lock();
                            if (self && !self->is_over_) self->end(event);
                          });
}

void NodeExecutor::fail(const Error& error) {
  std::string text = error.message();
  if (!error.fix().empty()) text += " (" + error.fix() + ")";
  fail(Failure{.error = std::move(text)});
}

void NodeExecutor::end(MakeEvent make_event) {
  is_over_ = true;
  run_.reset();
  parts_.context.inbox.post(NodeWorkEnded{claim(), std::move(make_event)});
}

}  // namespace reeve::runtime
