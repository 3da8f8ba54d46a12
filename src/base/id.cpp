#include "base/id.h"

#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::base::detail {

std::string format_id(std::string_view prefix, std::int64_t number) { return fmt::format("{}-{}", prefix, number); }

std::optional<std::int64_t> parse_id(std::string_view prefix, std::string_view text) noexcept {
  if (text.size() < prefix.size() + 2 || text[prefix.size()] != '-') return std::nullopt;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    const char c = text[i];
    if (c != prefix[i] && c != static_cast<char>(prefix[i] - 'A' + 'a')) return std::nullopt;
  }
  const std::string_view digits = text.substr(prefix.size() + 1);
  if (!is_ascii_digit(digits.front()) || digits.front() == '0') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace reeve::base::detail
