#include "engine/usage_limit.h"

#include <algorithm>

#include <fmt/format.h>

namespace reeve::engine {

namespace {

constexpr base::Milliseconds margin = std::chrono::seconds(2);
constexpr base::Milliseconds longest_wait = std::chrono::hours(8 * 24);
constexpr base::Milliseconds first_pause = std::chrono::minutes(15);
constexpr base::Milliseconds longest_pause = std::chrono::hours(4);

base::Milliseconds pause_of(int in_row, base::Milliseconds first, base::Milliseconds longest) {
  base::Milliseconds pause = first;
  for (int i = 1; i < in_row && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

}  // namespace

std::optional<base::WallTime> find_plausible_reset(std::optional<base::WallTime> resets_at, base::WallTime now) {
  // Compared without a difference, which could overflow.
  const bool is_plausible = resets_at && *resets_at > now && *resets_at <= now + longest_wait;
  return is_plausible ? resets_at : std::nullopt;
}

base::WallTime find_continuation(const UsageLimit& limit, base::WallTime now) {
  if (!limit.resets_at) return now + pause_of(limit.in_row, first_pause, longest_pause);
  return std::max(*limit.resets_at + margin, now + pause_of(limit.in_row, margin, first_pause));
}

std::string describe_limit(std::string_view agent, base::WallTime continues_at, std::string_view reason) {
  // "2026-11-19T17:11:00.000Z"
  const std::string time = base::format_time(continues_at);
  std::string text =
      fmt::format("usage limit of {}: continues at {} {} UTC", agent, time.substr(0, 10), time.substr(11, 5));
  if (!reason.empty()) text += fmt::format(" ({})", reason);
  return text;
}

}  // namespace reeve::engine
