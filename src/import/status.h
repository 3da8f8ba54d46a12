#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "model/task.h"

// Maps the seeds' status words to Reeve's (STO-2). Imported work is never resumed: whatever was unfinished has failed,
// with the reason `imported`.
namespace reeve::import {

enum class OldEnd {
  completed,
  failed,
  timed_out,
  cancelled,
  skipped,
  // Started but not finished.
  unfinished,
  // Not started.
  waiting,
};
// Case-insensitive; nothing for an unknown word.
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
// `whole`: the status of its execution.
NodeEnd node_end(OldEnd end, const std::optional<std::string>& error, model::ExecutionStatus whole);

// A task that was not started is cancelled, because it never will be.
model::TaskStatus task_end(OldEnd end);

// `denied` is `rejected`. Nothing for an unknown word.
std::optional<model::ApprovalStatus> find_old_decision(std::string_view word);
// A patch that was queued counts as not applied.
std::optional<model::PatchState> find_old_patch_state(std::string_view word);

}  // namespace reeve::import
