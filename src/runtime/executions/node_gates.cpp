#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/executions/node_executor.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_outputs.h"
#include "runtime/settings/gate_results.h"

// The gates of a node: of a task, before its changes go any further (ISO-2), or a gate node itself (GRF-6).
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Run;

// How often `retry_with_feedback` sends a task back if its `retry` does not say.
constexpr std::int64_t max_rounds = 3;
constexpr std::size_t feedback_bytes = 8UL * 1024;

}  // namespace

void NodeExecutor::begin_gates() {
  verdicts_.clear();
  gate_ = 0;
  auto ordered = order_gates(
      *start_.settings, task() != nullptr ? task()->gates : std::vector<std::string>{node().gate_config->gate_type});
  if (!ordered) return fail(ordered.error());
  gates_ = std::move(*ordered);
  next_gate();
}

void NodeExecutor::next_gate() {
  if (gate_ >= gates_.size()) return gates_passed();
  const std::string& gate = gates_[gate_];
  const auto& before = start_.settings->gates.at(gate).depends_on;
  const auto is_stopped = [&](const Verdict& verdict) {
    return !verdict.passed && !verdict.is_warning && std::ranges::find(before, verdict.gate) != before.end();
  };
  const auto stopper = std::ranges::find_if(verdicts_, is_stopped);
  if (stopper != verdicts_.end()) {
    // Only for gate nodes: a task ends at its first gate that does not pass.
    verdicts_.push_back(
        {.gate = gate,
         .outputs = make_skipped_outputs(fmt::format("not run: gate {} did not pass", base::quoted(stopper->gate)))});
    ++gate_;
    return next_gate();
  }
  if (const auto past = past_gates_.extract(gate)) {
    is_at_gate_ = true;
    if (is_final(past.mapped().status)) return on_gate_end(past.mapped());
    run_ = past.mapped().tool_run_id;
    return report_change();
  }
  if (!is_isolated()) return start_gate(gate, {.folder = start_.settings->project, .commit = {}, .tree = {}});
  parts_.isolation.checkout(isolation_settings(), place(), collected_.commit, gate,
                            guarded<Isolation::Checkout>([gate](NodeExecutor& self, const Isolation::Checkout& made) {
                              self.gate_folder_ = made.folder;
                              self.start_gate(gate, made);
                            }));
}

void NodeExecutor::start_gate(const std::string& gate, const Isolation::Checkout& checkout) {
  auto plan = plan_gate(*start_.settings, gate, checkout.folder);
  if (!plan) return fail(plan.error());
  if (const auto error = check_gate_folder(*start_.settings, gate, checkout.folder)) return fail(*error);
  is_at_gate_ = true;
  plan->metadata.emplace(gate_key, gate);
  if (!checkout.tree.empty()) {
    plan->metadata.emplace(tree_key, checkout.tree);
    plan->metadata.emplace(commit_key, checkout.commit);
    plan->metadata.emplace(judged_key, task() != nullptr ? judged_task : judged_branch);
  }
  if (round_ > 0) plan->metadata.emplace(round_key, std::to_string(round_));
  start_run(std::move(*plan));
}

void NodeExecutor::on_gate_end(const Run& run) {
  is_at_gate_ = false;
  if (!gate_folder_.empty()) parts_.isolation.discard(isolation_settings(), std::exchange(gate_folder_, {}));
  const std::string gate = gates_[gate_++];
  const model::Gate& terms = start_.settings->gates.at(gate);
  const GateWord word = read_gate_word(run);
  if (word == GateWord::broken) {
    const bool is_timeout = run.status == model::RunStatus::failed_timeout;
    return fail(Failure{.error = describe_refusal(gate, run),
                        .kind = is_timeout ? model::RetryOn::failed_timeout : model::RetryOn::failed,
                        .is_final = run.status == model::RunStatus::cancelled,
                        .patch = model::PatchState::rejected});
  }
  const bool is_mild = only_warns(terms);
  verdicts_.push_back({.gate = gate,
                       .outputs = make_gate_outputs(run_folder(parts_.context, run.tool_run_id), run),
                       .passed = word == GateWord::yes,
                       .is_warning = word == GateWord::no && is_mild});
  if (word == GateWord::yes || is_mild || task() == nullptr) return next_gate();
  if (!may_try_again(gate)) {
    return fail(Failure{.error = describe_refusal(gate, run), .patch = model::PatchState::rejected});
  }
  ++round_;
  past_gates_.clear();
  feedback_ = fmt::format("{}. Its output:\n{}", describe_refusal(gate, run),
                          read_text(run_folder(parts_.context, run.tool_run_id), run, feedback_bytes));
  start_task(folder_.empty() ? start_.settings->project : folder_);
}

bool NodeExecutor::may_try_again(const std::string& gate) const {
  const bool is_sent_back = start_.settings->gates.at(gate).on_fail == model::OnGateFail::retry_with_feedback;
  const std::int64_t most = task()->retry ? task()->retry->attempts : max_rounds;
  return is_sent_back && task()->role != noop_role && tries() < most;
}

void NodeExecutor::gates_passed() {
  if (task() != nullptr) return accept();
  const Verdict& own = verdicts_.back();
  const bool said_yes = own.passed || own.is_warning;
  if (said_yes) return apply();
  const Value* status = own.outputs.find("test_status");
  const bool is_skipped = status != nullptr && status->as_string() != nullptr && *status->as_string() == "skipped";
  finish(false, is_skipped
                    ? fmt::format("gate {} was not run: a gate it depends on did not pass", base::quoted(own.gate))
                    : fmt::format("gate {} did not pass", base::quoted(own.gate)));
}

void NodeExecutor::accept() {
  const bool has_place = is_isolated() && task()->role != noop_role;
  if (!has_place) return apply();
  parts_.isolation.accept(isolation_settings(), place(),
                          guarded<Isolation::Accepted>([](NodeExecutor& self, const Isolation::Accepted& accepted) {
                            if (!accepted.is_conflict) return self.apply();
                            self.fail(Failure{.error = fmt::format("its changes conflict with other changes: {}",
                                                                   base::join(accepted.conflicts, ", ")),
                                              .patch = model::PatchState::conflicted});
                          }));
}

void NodeExecutor::apply() {
  if (!node().apply || !start_.settings->base_commit) return finish(true, {});
  ask_store(
      parts_.context.ledger, parts_.context.loop,
      [root = start_.root](ledger::Transaction& transaction) { return ledger::find_refusing_gate(transaction, root); },
      guarded<std::optional<std::string>>([](NodeExecutor& self, const std::optional<std::string>& refusing) {
        if (!refusing) return self.apply_now();
        self.fail(Error(ErrorCode::patch_not_applied,
                        fmt::format("nothing was applied: gate {} did not pass", base::quoted(*refusing))));
      }));
}

void NodeExecutor::apply_now() {
  parts_.isolation.apply(isolation_settings(), start_.root, model::ApplyWhen::on_complete,
                         guarded<Isolation::Applied>([](NodeExecutor& self, const Isolation::Applied& applied) {
                           const bool is_refused = applied.kind == Isolation::Applied::Kind::refused ||
                                                   applied.kind == Isolation::Applied::Kind::held;
                           if (is_refused) {
                             return self.fail(Error(ErrorCode::patch_not_applied, applied.message));
                           }
                           self.applied_ = applied.message;
                           self.finish(true, {});
                         }));
}

}  // namespace reeve::runtime
