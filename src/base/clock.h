#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::base {

using Milliseconds = std::chrono::milliseconds;

// Wall-clock time. Milliseconds are the precision of SPEC's texts, so nothing is lost in conversion.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Milliseconds>;

// The kernel's BOOTTIME: never jumps, and keeps counting while the machine is suspended. Used for timeouts.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

// Time is a parameter: code that needs it takes a Clock, and tests pass one that they advance by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall_now() const = 0;
  virtual BootTime boot_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  WallTime wall_now() const override;
  BootTime boot_now() const override;
};

// "2026-11-15T06:07:52.123Z": UTC, ISO 8601, always milliseconds.
std::string format_time(WallTime time);
// Parses the output of format_time, with any number of fractional digits (or none).
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace reeve::base
