#include "base/quantity.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace reeve::base {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array duration_units = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                                       Unit{"ms", 1}};
constexpr std::array size_units = {Unit{"TiB", 1ULL << 40U}, Unit{"GiB", 1ULL << 30U}, Unit{"MiB", 1ULL << 20U},
                                   Unit{"KiB", 1ULL << 10U}, Unit{"B", 1}};
constexpr std::uint64_t longest_duration_ms = 10ULL * 366 * 86'400'000;
constexpr std::uint64_t largest_size = 1ULL << 60U;

// "17MiB" is 17 × its unit, "17" is 17 × `bare`; nullopt if the text is neither or the result exceeds `most`.
template <std::size_t N>
std::optional<std::uint64_t> parse_quantity(std::string_view text, const std::array<Unit, N>& units, std::uint64_t bare,
                                            std::uint64_t most) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  std::uint64_t factor = name.empty() ? bare : 0;
  for (const Unit& unit : units) {
    if (unit.name == name) factor = unit.factor;
  }
  if (factor == 0 || number > most / factor) return std::nullopt;
  return number * factor;
}

template <std::size_t N>
std::string format_quantity(std::uint64_t amount, const std::array<Unit, N>& units, std::string_view zero) {
  if (amount == 0) return std::string(zero);
  for (const Unit& unit : units) {
    if (amount % unit.factor == 0) return fmt::format("{}{}", amount / unit.factor, unit.name);
  }
  return fmt::format("{}", amount);
}

}  // namespace

std::optional<Milliseconds> parse_duration(std::string_view text) noexcept {
  const auto amount = parse_quantity(text, duration_units, 1'000, longest_duration_ms);
  return amount ? std::optional(Milliseconds(*amount)) : std::nullopt;
}

std::optional<TimeLimit> parse_time_limit(std::string_view text) noexcept {
  if (text == "off" || text == "never") return TimeLimit::off();
  const auto duration = parse_duration(text);
  return duration ? std::optional(TimeLimit::of(*duration)) : std::nullopt;
}

std::string format_duration(Milliseconds duration) {
  return format_quantity(static_cast<std::uint64_t>(duration.count()), duration_units, "0s");
}

std::string format_time_limit(TimeLimit limit) { return limit.after ? format_duration(*limit.after) : "off"; }

std::optional<ByteSize> parse_byte_size(std::string_view text) noexcept {
  const auto amount = parse_quantity(text, size_units, 1, largest_size);
  return amount ? std::optional(ByteSize{*amount}) : std::nullopt;
}

std::string format_byte_size(ByteSize size) { return format_quantity(size.bytes, size_units, "0B"); }

}  // namespace reeve::base
