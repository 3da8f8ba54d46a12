#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/agent_session.h"
#include "view/style.h"
#include "view/table.h"

// Sessions of agents as text for people.
namespace reeve::view {

// A listing. `now` is for terminals: times are relative then, and counts shortened; without it they are exact.
Table sessions_table(const std::vector<model::AgentSession>& sessions, const Style& style,
                     std::optional<base::WallTime> now);

// "950", "12.3k", "4.5M"
std::string tokens_text(std::int64_t tokens);

}  // namespace reeve::view
