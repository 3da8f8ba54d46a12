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

// Executions as people read them. What tools wrote is harmless in all of it (LOG-3).
namespace reeve::view {

// What there is to say beside the status: why it failed, what it waits for, "2 running". Empty when there is nothing.
std::string execution_note(const model::Execution& execution);
// How long it took, or lasts.
base::Milliseconds execution_span(const model::Execution& execution, base::WallTime now);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table executions_table(const std::vector<model::Execution>& executions, const Style& style,
                       std::optional<base::WallTime> now);

// One execution with all that is known of it.
struct ExecutionStory {
  model::Execution execution;
  // What loops took back, in that order.
  std::vector<model::NodeExecution> iterations = {};
  std::vector<model::Run> runs = {};
  std::vector<model::Approval> approvals = {};
  // What it changed, the cells of a line each.
  std::vector<std::vector<std::string>> patches = {};
};
// Everything: what went in and came out of each node, attempts, iterations, approvals. `now` as above; in a pipe a line
// begins with what it is about: `execution`, `node`, `iteration`, `run`, `approval`, `patch`.
std::string execution_details(const ExecutionStory& story, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
