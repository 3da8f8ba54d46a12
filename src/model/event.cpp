#include "model/event.h"

#include <array>

namespace reeve::model {

namespace {

struct Alias {
  std::string_view name;
  EventKind kind;
};

using enum EventKind;
constexpr std::array aliases = {
    Alias{"task_execution_start", tool_status_change},
    Alias{"task_execution_complete", tool_status_change},
    Alias{"task_execution_failed", tool_status_change},
    Alias{"task_execution_timeout", tool_status_change},
    Alias{"run.*", tool_status_change},
    Alias{"approval_requested", approval_needed},
    Alias{"approval_resolved", approval_status_change},
    Alias{"approval_granted", approval_status_change},
    Alias{"approval_rejected", approval_status_change},
    Alias{"agent_spawned", agent_state_change},
    Alias{"agent_failed", agent_state_change},
    Alias{"agent_output", tool_output},
};

}  // namespace

std::optional<EventKind> find_event_kind(std::string_view name) {
  const std::string_view stem = name.substr(0, name.find(':'));
  const bool has_part = stem.size() < name.size();
  if (const auto kind = base::find_enum<EventKind>(stem)) {
    if (has_part && *kind != phase_start && *kind != phase_complete) return std::nullopt;
    return kind;
  }
  if (has_part) return std::nullopt;
  for (const Alias& alias : aliases) {
    const bool is_family = alias.name.ends_with(".*");
    if (alias.name == name || (is_family && name.starts_with(alias.name.substr(0, alias.name.size() - 1)))) {
      return alias.kind;
    }
  }
  return std::nullopt;
}

}  // namespace reeve::model
