#pragma once

#include <optional>
#include <string_view>

#include "model/describe.h"

// What happened, as it is stored and told to listeners (SPEC §9).
namespace reeve::model {

enum class EventKind {
  tool_status_change,
  tool_output,
  approval_needed,
  approval_status_change,
  agent_state_change,
  phase_start,
  phase_complete,
  task_complete,
  node_status_change,
  execution_status_change,
  patch_state_change,
  policy_denied
};
REEVE_DESCRIBE_ENUM(EventKind, tool_status_change, tool_output, approval_needed, approval_status_change,
                    agent_state_change, phase_start, phase_complete, task_complete, node_status_change,
                    execution_status_change, patch_state_change, policy_denied)

// The kind that a subscriber means by a name: the kind's own, or one of the names that the seeds use for it, also
// `phase_start:coding` and `run.failed`. Nothing for a name that no event answers to. Which of the kind's events a
// narrower name stands for (`task_execution_failed`: by status) is for the one who has the event to say.
std::optional<EventKind> find_event_kind(std::string_view name);

}  // namespace reeve::model
