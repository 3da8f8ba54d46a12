#include "runtime/isolation/apply_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/isolation/attempt.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/settings/execution_settings.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

ApplySchedule::ApplySchedule(RuntimeContext& context, GitOperations& git, Hooks hooks)
    : context_(context),
      git_(git),
      asked_(std::move(hooks.asked)),
      queue_({.ask_gates = std::move(hooks.ask_gates),
              .cancel_gates = std::move(hooks.cancel_gates),
              .finished = [this](const ApplyQueue::Job& job, const Result& result) { on_finished(job, result); }}) {}

void ApplySchedule::apply(base::ExecutionId root, model::ApplyWhen mode, const Answer<Applied>& answer) {
  add(root, mode, [this, root, answer](const Result& result) {
    if (!result) {
      retries_.emplace(root, Retry{.at = std::chrono::steady_clock::now() + Retry().pause});
      context_.ledger.report_next_poll();
    }
    answer(result);
  });
}

void ApplySchedule::apply_requested(base::ExecutionId root, const Answer<Applied>& answer) {
  const auto mode = attempt([&] {
    return git_.applies.has_open_question(root) ? model::ApplyWhen::on_approval : model::ApplyWhen::on_complete;
  });
  if (!mode) return answer(std::unexpected(mode.error()));
  apply(root, *mode, answer);
}

void ApplySchedule::apply_patch(base::PatchId id, const std::string& by, const Answer<model::Patch>& answer) {
  const auto done = [this, id, answer](const Result& result) {
    answer(attempt([&] { return get_applied(id, result); }));
  };
  const auto patch = attempt([&] { return git_.patches.get(id); });
  if (!patch) return answer(std::unexpected(patch.error()));
  const bool goes_with_others = patch->state == model::PatchState::queued && patch->branch_commit &&
                                attempt([&] { return git_.patches.is_queued(patch->root_id); }).value_or(false);
  if (goes_with_others) return add(patch->root_id, model::ApplyWhen::on_approval, done);
  add(*patch, by, done);
}

void ApplySchedule::resume() {
  attempt_or_log(context_.log_warning, "cannot apply approved changes", [&] {
    git_.applies.recover_checkouts();
    for (const base::PatchId id : git_.patches.find_queued_patches()) {
      attempt_or_log(context_.log_warning, "cannot apply " + id.text(), [&] { resume(id); });
    }
    for (const base::ExecutionId root : git_.patches.find_queued()) {
      attempt_or_log(context_.log_warning, "cannot apply " + root.text(), [&] { resume(root); });
    }
    for (const base::ExecutionId root : git_.applies.find_granted()) apply_if_due(root);
  });
}

void ApplySchedule::resume(base::ExecutionId root) {
  const auto refusal = git_.applies.find_refusal(root, root.text());
  if (!refusal) return apply_if_due(root);
  git_.applies.hold_back(root, *refusal);
}

void ApplySchedule::resume(base::PatchId id) {
  const model::Patch patch = git_.patches.get(id);
  const auto refusal = git_.applies.find_refusal(patch.root_id, id.text());
  if (refusal) {
    git_.applies.hold_back(id, *refusal);
    return;
  }
  add(patch, "Reeve, after a restart", [this, id](const Result& result) { log_result(id.text(), result); });
}

void ApplySchedule::poll() {
  attempt_or_log(context_.log_warning, "cannot apply approved changes", [&] {
    for (const base::ExecutionId root : git_.applies.find_granted()) apply_if_due(root);
    retry_queued();
  });
  if (!retries_.empty()) context_.ledger.report_next_poll();
}

void ApplySchedule::apply_if_due(base::ExecutionId root) {
  constexpr base::Milliseconds max_pause = std::chrono::minutes(5);
  if (queue_.contains(root)) return;
  Retry& retry = retries_[root];
  const auto now = std::chrono::steady_clock::now();
  if (now < retry.at) return;
  retry.at = now + retry.pause;
  context_.ledger.report_next_poll();
  retry.pause = std::min(2 * retry.pause, max_pause);
  add(root, model::ApplyWhen::on_approval, [this, root](const Result& result) {
    if (result) retries_.erase(root);
    log_result(root.text(), result);
  });
}

void ApplySchedule::retry_queued() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<base::ExecutionId> due;
  for (const auto& [root, retry] : retries_) {
    if (now >= retry.at) due.push_back(root);
  }
  for (const base::ExecutionId root : due) {
    if (git_.patches.is_queued(root)) {
      apply_if_due(root);
    } else {
      retries_.erase(root);
    }
  }
}

void ApplySchedule::add(base::ExecutionId root, model::ApplyWhen mode, Done done) {
  const auto apply = [this, root, mode] {
    Applied applied = git_.applies.apply(root, mode);
    if (applied.approval) {
      model::Approval approval;
      approval.approval_id = *applied.approval;
      asked_(approval);
    }
    return applied;
  };
  queue_.add({.checkout = find_checkout(root),
              .root = root,
              .name = root.text(),
              .attempt = apply,
              .hold = [this, root](const std::string& why) { return git_.applies.hold_back(root, why); },
              .done = {std::move(done)}});
}

void ApplySchedule::add(const model::Patch& patch, const std::string& by, Done done) {
  const base::PatchId id = patch.patch_id;
  queue_.add({.checkout = find_checkout(patch.root_id),
              .root = patch.root_id,
              .name = id.text(),
              .attempt = [this, id, by] { return git_.applies.apply_patch(id, by); },
              .hold = [this, id](const std::string& why) { return git_.applies.hold_back(id, why); },
              .done = {std::move(done)}});
}

// An error here is reported when the apply is attempted.
std::string ApplySchedule::find_checkout(base::ExecutionId root) {
  return attempt([&] { return git_.applies.find_checkout(root); }).value_or("");
}

model::Patch ApplySchedule::get_applied(base::PatchId id, const Result& result) {
  if (!result) throw result.error();
  if (result->kind == Applied::Kind::held) {
    throw Error(ErrorCode::patch_gate_refused, result->message,
                fmt::format("fix what the gate reports, then run `reeve patch apply {}` again", id.text()));
  }
  if (result->kind == Applied::Kind::refused) throw Error(ErrorCode::patch_not_applied, result->message);
  return git_.patches.get(id);
}

// If the execution has already ended, its branch was kept open for this job.
void ApplySchedule::on_finished(const ApplyQueue::Job& job, const Result& result) {
  if (!result) return;
  const bool is_over = attempt([&] {
                         const auto status = git_.cleanup.find_status(job.root);
                         return !status || model::is_over(*status);
                       }).value_or(false);
  // Otherwise the next job of the execution, or its driver, cleans up.
  if (!is_over || queue_.contains(job.root) || is_settings_open(context_.folder, job.root)) return;
  const bool is_applied = result->kind == Applied::Kind::applied;
  const bool was_opened = !attempt([&] { return git_.cleanup.is_closed(job.root); }).value_or(true);
  const bool is_branch = job.name == job.root.text();
  if (was_opened || (is_applied && is_branch)) git_.cleanup.try_close(job.root);
  if (is_applied) forget_settings(job.root);
}

void ApplySchedule::forget_settings(base::ExecutionId root) {
  attempt_or_log(context_.log_warning, "cannot remove the config of " + root.text(), [&] {
    const auto status = git_.cleanup.find_status(root);
    const bool is_done = status && model::is_over(*status) && *status != model::ExecutionStatus::failed;
    if (is_done && !is_settings_open(context_.folder, root) && git_.patches.find_waiting(root).empty()) {
      remove_settings(context_.folder, root);
    }
  });
}

void ApplySchedule::log_result(const std::string& name, const Result& result) {
  if (!result) return context_.log_warning(fmt::format("cannot apply {}: {}", name, result.error().message()));
  const bool is_refused = result->kind == Applied::Kind::refused || result->kind == Applied::Kind::held;
  if (is_refused) context_.log_warning(fmt::format("{}: {}", name, result->message));
}

}  // namespace reeve::runtime
