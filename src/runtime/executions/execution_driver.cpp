#include "runtime/executions/execution_driver.h"

#include <utility>

#include <fmt/format.h>

#include "ledger/units.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::StepResult;
using ledger::Transaction;

// A task without a run: its inputs are its output.
bool is_noop(const ledger::StartWork& work) {
  const model::Node& node = work.workflow->workflow.nodes[work.claim.node];
  return node.task_config && node.task_config->role == noop_role && node.task_config->gates.empty() && !node.apply;
}

}  // namespace

ExecutionDriver::ExecutionDriver(NodeExecutor::Parts parts)
    : parts_(parts),
      context_(parts.context),
      gates_(parts),
      slots_(static_cast<std::size_t>(parts.context.supervision.max_parallel_runs)) {
  RunQueue& queue = parts_.supervisor.queue();
  slots_.set_others([&queue] { return queue.busy(); });
  queue.set_others([this] { return slots_.busy(); });
  parts_.isolation.set_gates(
      {.ask = [this](Isolation::GateCheck check,
                     ApplyGates::Answer answer) { gates_.ask(std::move(check), std::move(answer)); },
       .cancel = [this](const std::string& name) { gates_.cancel(name); }});
}

void ExecutionDriver::perform(const StepResult& result) {
  for (const ledger::Work& work : result.work) {
    if (const auto* start = std::get_if<ledger::StartWork>(&work)) {
      begin_work(*start);
    } else if (const auto* offer = std::get_if<ledger::OfferWork>(&work)) {
      if (offer->not_before) {
        wait_until(*offer->not_before);
      } else if (slots_.room() > 0) {
        offer_room();
      } else {
        was_full_ = true;
      }
      if (!offer->not_before) wake_others();
    } else if (const auto* cancel = std::get_if<ledger::CancelWork>(&work)) {
      drop(cancel->claim);
    }
  }
  for (const base::ExecutionId execution : result.wants_apply) cleanup_.apply(execution);
  for (const StepResult::Ended& ended : result.ended) cleanup_.begin(ended.execution, ended.status);
}

void ExecutionDriver::on_steps_committed(const StepsCommitted& steps) {
  rethrow_unknown_commit(steps.error);
  perform(steps.result);
}

void ExecutionDriver::begin_work(const ledger::StartWork& work) {
  if (is_noop(work)) {
    const base::Value& inputs = work.inputs;
    return conclude_now(work.claim,
                        engine::NodeFinished{work.claim.node, inputs.is_null() ? base::Value::object() : inputs});
  }
  if (slots_.room() == 0) {
    slots_.add_waiting(work);
    return announce_room();
  }
  hold(work, [](NodeExecutor& node) { node.begin(); });
}

void ExecutionDriver::hold(const ledger::StartWork& work, std::function<void(NodeExecutor&)> go) {
  slots_.occupy(work.claim);
  announce_room();
  settings_.find(work.claim.execution, [this, work, go](const std::expected<StoredSettings::Place, Error>& place) {
    // It may have been cancelled while its settings were read; the node may belong to another claim by now.
    if (place && slots_.is_occupied_by(work.claim)) {
      const auto node = std::make_shared<NodeExecutor>(parts_, NodeExecutor::Start{work, place->settings, place->root});
      held_.insert_or_assign(key_of(work.claim), node);
      go(*node);
    }
    if (place) return;
    // Nothing has begun or failed.
    if (is_of_store(place.error())) {
      return retry_.later([this, work, go] {
        if (slots_.is_occupied_by(work.claim)) hold(work, go);
      });
    }
    const engine::NodeFailed failed{work.claim.node, model::RetryOn::failed, place.error().message(), true};
    on_work_ended({work.claim, [failed](Transaction&) { return failed; }});
  });
}

void ExecutionDriver::on_claim_lost(const ledger::Claim& claim) {
  remove_held(claim);
  slots_.remove_ready(claim);
  slots_.release(claim);
  use_room();
}

void ExecutionDriver::remove_held(const ledger::Claim& claim) {
  if (!find_held(claim)) return;
  held_.erase(key_of(claim));
  std::erase_if(by_run_, [&](const auto& entry) { return entry.second == key_of(claim); });
  slots_.set_preparing(claim, false);
}

std::shared_ptr<NodeExecutor> ExecutionDriver::find_held(const ledger::Claim& claim) const {
  const auto found = held_.find(key_of(claim));
  return found != held_.end() && found->second->claim() == claim ? found->second : nullptr;
}

void ExecutionDriver::on_run_changed(const model::Run& run) {
  gates_.on_run_changed(run);
  const auto found = by_run_.find(run.tool_run_id);
  if (found == by_run_.end()) return;
  const auto work = held_.find(found->second);
  if (work == held_.end()) return;
  if (is_final(run.status)) by_run_.erase(found);
  const std::shared_ptr<NodeExecutor> kept = work->second;
  kept->on_run_changed(run);
}

void ExecutionDriver::conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event) {
  auto shared = std::make_shared<engine::ExecutionEvent>(std::move(event));
  const NodeWorkEnded ended{claim, [shared](Transaction&) { return *shared; }};
  auto unit = ledger::make_conclude(
      context_.ledger.executions(), capacity(0), claim, *shared,
      [this, ended](const std::optional<Error>& error, StepResult& result) {
        context_.loop.post([this, ended, error, result = std::move(result)] { on_concluded(ended, error, result); });
      });
  if (context_.ledger.submit(std::move(unit))) return;
  on_concluded(ended, Error(ErrorCode::store_busy, "the store is busy"), {});
}

void ExecutionDriver::on_work_ended(const NodeWorkEnded& ended) {
  context_.crash_point("node.before_conclude");
  ask_store(
      context_.ledger, context_.loop,
      [ended, worker = capacity(1), &ledger = context_.ledger](Transaction& transaction) {
        StepResult result;
        const engine::ExecutionEvent made = ended.make_event(transaction);
        ledger.executions().conclude(transaction, ended.claim, made, worker, result);
        return result;
      },
      [this, ended](std::expected<StepResult, Error> result) {
        context_.crash_point("node.after_conclude");
        on_concluded(ended, result ? std::nullopt : std::optional(result.error()), result ? *result : StepResult());
      });
}

void ExecutionDriver::on_concluded(const NodeWorkEnded& ended, const std::optional<Error>& error,
                                   const StepResult& result) {
  const ledger::Claim& claim = ended.claim;
  rethrow_unknown_commit(error);
  // The store refused, so nothing happened: retry until it succeeds.
  if (error && !error->is(ErrorCode::execution_not_found)) {
    context_.log_warning(
        fmt::format("cannot store the result of a node of {}: {}", claim.execution.text(), error->message()));
    return retry_.later([this, ended] { on_work_ended(ended); });
  }
  // Releases its slot before subsequent work asks for one.
  remove_held(claim);
  slots_.release(claim);
  perform(result);
  use_room();
}

void ExecutionDriver::drop(const ledger::Claim& claim) {
  slots_.remove_waiting(claim);
  if (const auto work = find_held(claim)) {
    cleanup_.add_ending_node(work->root());
    work->cancel("its node was cancelled", [this, root = work->root()] { cleanup_.on_node_gone(root); });
  } else if (!held_.contains(key_of(claim))) {
    // Another daemon may hold the work.
    wake_others();
  }
  on_claim_lost(claim);
}

}  // namespace reeve::runtime
