#include "base/clock.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/error.h"
#include "base/text.h"

namespace reeve::base {

namespace {

std::chrono::nanoseconds read_clock(clockid_t id) {
  timespec now{};
  REEVE_ASSERT(clock_gettime(id, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// The number that exactly fills text[start, start + length).
std::optional<int> read_number(std::string_view text, std::size_t start, std::size_t length) {
  int number = 0;
  const char* first = text.data() + start;
  for (std::size_t i = 0; i < length; ++i) {
    if (!is_ascii_digit(first[i])) return std::nullopt;
    number = number * 10 + (first[i] - '0');
  }
  return number;
}

// Fills text[start, start + length) with the last digits of the number.
void write_number(std::string& text, std::size_t start, std::size_t length, std::int64_t number) {
  for (std::size_t i = length; i > 0; --i, number /= 10) text[start + i - 1] = static_cast<char>('0' + number % 10);
}

// Milliseconds of ".123", ".5", ".123456" or "", digits beyond the third dropped.
std::optional<Milliseconds> read_fraction(std::string_view text) {
  if (text.empty()) return Milliseconds(0);
  if (text.front() != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
  int milliseconds = 0;
  for (std::size_t i = 1; i < text.size() || i <= 3; ++i) {
    if (i < text.size() && !is_ascii_digit(text[i])) return std::nullopt;
    if (i <= 3) milliseconds = milliseconds * 10 + (i < text.size() ? text[i] - '0' : 0);
  }
  return Milliseconds(milliseconds);
}

}  // namespace

WallTime SystemClock::wall_now() const {
  return WallTime(std::chrono::floor<Milliseconds>(read_clock(CLOCK_REALTIME)));
}

BootTime SystemClock::boot_now() const { return BootTime(read_clock(CLOCK_BOOTTIME)); }

std::string format_time(WallTime time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  std::string text = "0000-00-00T00:00:00.000Z";
  // Times beyond year 9999 could not be parsed back, so they are clamped to the last one that can.
  write_number(text, 0, 4, std::clamp(static_cast<int>(date.year()), 0, 9'999));
  write_number(text, 5, 2, static_cast<unsigned>(date.month()));
  write_number(text, 8, 2, static_cast<unsigned>(date.day()));
  write_number(text, 11, 2, clock.hours().count());
  write_number(text, 14, 2, clock.minutes().count());
  write_number(text, 17, 2, clock.seconds().count());
  write_number(text, 20, 3, clock.subseconds().count());
  return text;
}

std::optional<WallTime> parse_time(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  if (text.size() < shape.size() + 1 || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != '0' && text[i] != shape[i]) return std::nullopt;
  }
  const auto years = read_number(text, 0, 4);
  const auto months = read_number(text, 5, 2);
  const auto days = read_number(text, 8, 2);
  const auto hour = read_number(text, 11, 2);
  const auto minute = read_number(text, 14, 2);
  const auto second = read_number(text, 17, 2);
  if (!years || !months || !days || !hour || !minute || !second) return std::nullopt;
  const year_month_day date{year(*years), month(static_cast<unsigned>(*months)), day(static_cast<unsigned>(*days))};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const auto fraction = read_fraction(text.substr(shape.size(), text.size() - shape.size() - 1));
  if (!fraction) return std::nullopt;
  return WallTime(sys_days(date).time_since_epoch() + hours(*hour) + minutes(*minute) + seconds(*second) + *fraction);
}

}  // namespace reeve::base
