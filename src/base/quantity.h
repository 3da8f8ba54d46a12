#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

// Durations and sizes as users write them.
namespace reeve::base {

// A time limit that can be switched off: `off` and `never` are distinct from zero and from a very long time.
struct TimeLimit {
  std::optional<Milliseconds> after;

  static TimeLimit off() { return {}; }
  static TimeLimit of(Milliseconds time) { return {time}; }
  friend bool operator==(const TimeLimit&, const TimeLimit&) = default;
};

struct ByteSize {
  std::uint64_t bytes = 0;
  friend bool operator==(const ByteSize&, const ByteSize&) = default;
};

// The forms that the parsers accept, for messages.
inline constexpr std::string_view duration_forms = "a whole number of seconds, or 500ms, 90s, 5m, 2h, 3d";
inline constexpr std::string_view size_forms = "a whole number of bytes, or 64KiB, 16MiB, 1GiB";

// "90", "90s", "500ms", "5m", "2h", "3d"; at most ten years. Nullopt for anything else.
std::optional<Milliseconds> parse_duration(std::string_view text) noexcept;
// Also accepts "off" and "never".
std::optional<TimeLimit> parse_time_limit(std::string_view text) noexcept;
// Uses the largest unit that is exact: 90 s is "90s", 300 s is "5m", 0 is "0s".
std::string format_duration(Milliseconds duration);
std::string format_time_limit(TimeLimit limit);

// "4096", "64KiB", "16MiB", "1GiB", "2TiB".
std::optional<ByteSize> parse_byte_size(std::string_view text) noexcept;
std::string format_byte_size(ByteSize size);

}  // namespace reeve::base
