#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/id.h"
#include "model/approval.h"
#include "runtime/isolation/apply_queue.h"
#include "runtime/isolation/git_operations.h"
#include "runtime/isolation/isolation.h"

namespace reeve::runtime {

// Decides when changes are applied to users' checkouts: on request, when a person has approved them, after a restart,
// and again after git failed. Belongs to the git thread. Nothing is stored here; the store has the queued patches and
// the approvals.
class ApplySchedule {
 public:
  using Applied = Isolation::Applied;
  template <class T>
  using Answer = Isolation::Answer<T>;
  struct Hooks {
    // See ApplyQueue::Hooks.
    decltype(ApplyQueue::Hooks::ask_gates) ask_gates;
    decltype(ApplyQueue::Hooks::cancel_gates) cancel_gates;
    // Called for each approval that asks whether to apply a branch.
    std::function<void(const model::Approval&)> asked;
  };
  ApplySchedule(RuntimeContext& context, GitOperations& git, Hooks hooks);

  // If git fails, polls try again.
  void apply(base::ExecutionId root, model::ApplyWhen mode, const Answer<Applied>& answer);
  // Requested by a person after the execution has ended; see Isolation::apply_ended().
  void apply_requested(base::ExecutionId root, const Answer<Applied>& answer);
  // Requested by a person. A patch that a gate held back together with its branch is retried with the whole branch.
  void apply_patch(base::PatchId id, const std::string& by, const Answer<model::Patch>& answer);
  // At start: continues applies that were in progress or approved.
  void resume();
  // Applies branches approved since the last poll, and retries those on which git failed.
  void poll();

  ApplyQueue& queue() noexcept { return queue_; }
  const ApplyQueue& queue() const noexcept { return queue_; }

  // Removes the saved settings, with the environment, once nothing of the execution can be applied.
  void forget_settings(base::ExecutionId root);

 private:
  using Result = ApplyQueue::Result;
  using Done = std::function<void(const Result&)>;

  void add(base::ExecutionId root, model::ApplyWhen mode, Done done);
  void add(const model::Patch& patch, const std::string& by, Done done);
  // Called at every poll, so repeated failures back off.
  void apply_if_due(base::ExecutionId root);
  void retry_queued();
  // A change that a gate blocked waits until a person asks again.
  void resume(base::ExecutionId root);
  void resume(base::PatchId id);
  void on_finished(const ApplyQueue::Job& job, const Result& result);
  model::Patch get_applied(base::PatchId id, const Result& result);
  std::string find_checkout(base::ExecutionId root);
  void log_result(const std::string& name, const Result& result);

  RuntimeContext& context_;
  GitOperations& git_;
  std::function<void(const model::Approval&)> asked_;
  // When to retry an apply that failed temporarily.
  struct Retry {
    std::chrono::steady_clock::time_point at = {};
    base::Milliseconds pause = std::chrono::seconds(1);
  };
  std::map<base::ExecutionId, Retry> retries_;
  ApplyQueue queue_;
};

}  // namespace reeve::runtime
