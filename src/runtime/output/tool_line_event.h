#pragma once

#include <optional>
#include <string_view>

#include "base/value.h"
#include "runtime/output/tool_line.h"

// Converts the JSON object of a tool's line into an event.
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

// Nothing for all other words, including those reserved for Reeve (`tool_status_change`).
std::optional<EventWord> find_event_word(std::string_view word) noexcept;

// Accepts keys in snake_case or camelCase. Nothing if a member is missing or has the wrong type.
std::optional<ToolEvent> read_event(EventWord word, const base::Value& object);

}  // namespace reeve::runtime
