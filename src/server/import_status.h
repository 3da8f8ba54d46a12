#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "model/task.h"

// The words of the seeds for what became of something, as words of ours (STO-2). Nothing that is imported goes on: what
// was not over failed, reason `imported`.
namespace reeve::server {

enum class OldEnd {
  completed,
  failed,
  timed_out,
  cancelled,
  skipped,
  // It had begun.
  unfinished,
  // It had not.
  waiting,
};
// In any case; nothing for a word that is none.
std::optional<OldEnd> find_old_end(std::string_view word);
// "unknown status `x`", "it has no status".
std::string describe_unknown(const std::optional<std::string>& word);

inline constexpr std::string_view imported_reason = "imported";

struct RunEnd {
  model::RunStatus status = model::RunStatus::failed;
  std::optional<std::string> reason;
};
RunEnd run_end(OldEnd end, std::optional<int> exit_code);

struct ExecutionEnd {
  model::ExecutionStatus status = model::ExecutionStatus::failed;
  std::optional<std::string> reason;
};
ExecutionEnd execution_end(OldEnd end, const std::optional<std::string>& error);

struct NodeEnd {
  model::NodeStatus status = model::NodeStatus::cancelled;
  std::optional<std::string> error;
};
// `whole`: what became of its execution.
NodeEnd node_end(OldEnd end, const std::optional<std::string>& error, model::ExecutionStatus whole);

// A task that nobody had begun is cancelled: nobody is to begin it now.
model::TaskStatus task_end(OldEnd end);

// `denied` is `rejected`. Nothing for a word that is none.
std::optional<model::ApprovalStatus> find_old_decision(std::string_view word);
// What was on its way into a checkout did not get there.
std::optional<model::PatchState> find_old_patch_state(std::string_view word);

}  // namespace reeve::server
