#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

// When a run continues that reached a usage limit (RUN-18).
namespace reeve::engine {

// The time at which an agent says that its limit ends, when it says so: nothing if that is past or more than 8 days
// away.
std::optional<base::WallTime> find_plausible_reset(std::optional<base::WallTime> resets_at, base::WallTime now);

struct UsageLimit {
  std::optional<base::WallTime> resets_at = {};
  // The attempts in a row that reached a limit, with this one.
  int in_row = 1;
};

// With a time: a few seconds after it; attempts in a row wait longer, up to 15 minutes, in case the agent is wrong
// about the time. Without one: 15 minutes, doubled for each further attempt in a row up to 4 hours.
base::WallTime find_continuation(const UsageLimit& limit, base::WallTime now);

// "usage limit of claude: continues at 2026-11-19 17:11 UTC (5-hour window)"
std::string describe_limit(std::string_view agent, base::WallTime continues_at, std::string_view reason);

}  // namespace reeve::engine
