#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::base {

using Milliseconds = std::chrono::milliseconds;

// A moment as people and databases name it. Milliseconds: what SPEC's texts carry, so nothing is lost on the way.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Milliseconds>;

// The kernel's BOOTTIME: it never jumps and goes on while the machine sleeps. Timeouts are measured with it.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

// Time is a parameter: whatever needs it takes a Clock, tests give one that they turn themselves.
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
// Reads what format_time writes, and any number of digits after the second (or none).
std::optional<WallTime> parse_time(std::string_view text);

}  // namespace reeve::base
