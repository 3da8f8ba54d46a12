#include <utility>
#include <vector>

#include "runtime/runs/live_run.h"

// Tool calls of a live run that wait for a person (TOOL-3), and those in its output (TOOL-4).
namespace reeve::runtime {

void LiveRun::on_call_taken(std::uint64_t position) { output_.on_call_taken(position); }

void LiveRun::on_call_waits(base::ApprovalId id) {
  if (has_exited()) return;
  start_.record.status = model::RunStatus::waiting_approval;
  start_.record.reason.reset();
  handle(engine::CallWaits{id});
  report_(Changed{});
}

void LiveRun::on_call_answered(base::ApprovalId id, model::RunStatus status) {
  if (has_exited() || !state_.waiting_calls.contains(id)) return;
  const bool is_news = start_.record.status != status;
  start_.record.status = status;
  handle(engine::CallAnswered{id, status});
  if (is_news) report_(Changed{});
}

void LiveRun::on_calls_read(const std::set<base::ApprovalId>& waiting, model::RunStatus status) {
  std::vector<base::ApprovalId> answered;
  for (const base::ApprovalId id : state_.waiting_calls) {
    if (!waiting.contains(id)) answered.push_back(id);
  }
  for (const base::ApprovalId id : answered) on_call_answered(id, status);
}

bool LiveRun::is_advisory() const { return runtime::is_advisory(context_, start_.plan); }

}  // namespace reeve::runtime
