#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"

// Executions as text for people. Text from tools is sanitized (LOG-3).
namespace reeve::view {

// A note next to the status: why it failed, what it waits for, "2 running". May be empty.
std::string execution_note(const model::Execution& execution);
// How long it took, or has taken so far.
base::Milliseconds execution_span(const model::Execution& execution, base::WallTime now);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table executions_table(const std::vector<model::Execution>& executions, const Style& style,
                       std::optional<base::WallTime> now);

// One execution with all related records.
struct ExecutionStory {
  model::Execution execution;
  // Earlier loop iterations, in order.
  std::vector<model::NodeExecution> iterations = {};
  std::vector<model::Run> runs = {};
  std::vector<model::Approval> approvals = {};
  // Its patches, as the cells of one line each.
  std::vector<std::vector<std::string>> patches = {};
};
// The execution in full: inputs and outputs of each node, attempts, iterations, approvals. `now` as above; when piped,
// a line begins with its kind: `execution`, `node`, `iteration`, `run`, `approval`, `patch`.
std::string execution_details(const ExecutionStory& story, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
