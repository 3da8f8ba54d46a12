#pragma once

#include <optional>
#include <string_view>

#include "base/value.h"
#include "runtime/tool_line.h"

// From the object on a tool's line to what it says.
namespace reeve::runtime {

enum class EventWord {
  heartbeat,
  error,
  approval_needed,
  progress,
  usage,
  result,
  phase_complete,
  task_complete,
  tool_use
};

// Nothing for every other word, also for those that are Reeve's own to say (`tool_status_change`).
std::optional<EventWord> find_event_word(std::string_view word) noexcept;

// Keys in snake_case or camelCase. Nothing when a member is missing or has another type than the word asks for.
std::optional<ToolEvent> read_event(EventWord word, const base::Value& object);

}  // namespace reeve::runtime
