#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace reeve::keeper {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
// In nanoseconds; includes time in suspend.
inline std::int64_t boot_now() noexcept { return read_clock(CLOCK_BOOTTIME); }
inline std::int64_t unix_now() noexcept { return read_clock(CLOCK_REALTIME); }

}  // namespace reeve::keeper
