#pragma once

#include <optional>
#include <string_view>

#include "model/describe.h"

// Events, as they are stored and sent to listeners (SPEC §9).
namespace reeve::model {

enum class EventKind {
  tool_status_change,
  tool_output,
  approval_needed,
  // A tool call waits for a person; its approval sends `approval_needed` as well.
  tool_approval_pending,
  approval_status_change,
  agent_state_change,
  phase_start,
  phase_complete,
  task_complete,
  node_status_change,
  execution_status_change,
  patch_state_change,
  // What a caller outside of runs reports about its own work.
  caller_progress,
  policy_denied
};
REEVE_DESCRIBE_ENUM(EventKind, tool_status_change, tool_output, approval_needed, tool_approval_pending,
                    approval_status_change, agent_state_change, phase_start, phase_complete, task_complete,
                    node_status_change, execution_status_change, patch_state_change, caller_progress, policy_denied)

// The event kind that a subscriber means by a name: the kind's own name, or one that the seeds use for it, including
// `phase_start:coding` and `run.failed`. Nullopt for an unknown name. Names that cover only some events of a kind
// (`task_execution_failed`: by status) must be filtered further by the caller.
std::optional<EventKind> find_event_kind(std::string_view name);

}  // namespace reeve::model
