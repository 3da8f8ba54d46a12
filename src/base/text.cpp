#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace reeve::base {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <class Fn>
std::string map_ascii(std::string_view text, Fn fn) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), fn);
  return result;
}

}  // namespace

bool is_ascii_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) noexcept { return c >= '0' && c <= '9'; }
std::string to_ascii_lower(std::string_view text) { return map_ascii(text, lower); }
std::string to_ascii_upper(std::string_view text) { return map_ascii(text, upper); }

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

TextPosition position_of(std::string_view text, std::size_t offset) noexcept {
  const std::string_view before = text.substr(0, offset);
  const auto newlines = std::ranges::count(before, '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {static_cast<std::size_t>(newlines) + 1, count_characters(before.substr(line_start)) + 1};
}

std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most) {
  constexpr std::size_t longest = 64;
  left = left.substr(0, longest);
  right = right.substr(0, longest);
  const std::size_t too_many = most + 1;
  using Row = std::array<std::size_t, longest + 1>;
  Row two_back{};
  Row previous{};
  Row current{};
  for (std::size_t j = 0; j <= right.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    // Outside this band every alignment needs more than `most` insertions or deletions.
    const std::size_t first = i > most ? i - most : 1;
    const std::size_t last = std::min(right.size(), i + most);
    current.fill(too_many);
    current[0] = i;
    std::size_t best = first == 1 ? current[0] : too_many;
    for (std::size_t j = first; j <= last; ++j) {
      const bool same = lower(left[i - 1]) == lower(right[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(left[i - 1]) == lower(right[j - 2]) && lower(left[i - 2]) == lower(right[j - 1])) {
        current[j] = std::min(current[j], two_back[j - 2] + 1);
      }
      best = std::min(best, current[j]);
    }
    if (best > most) return too_many;
    two_back = previous;
    previous = current;
  }
  return std::min(previous[right.size()], too_many);
}

std::optional<std::string> find_closest(std::string_view name, const std::vector<std::string>& candidates) {
  // One mistake in a word of up to four letters, two in up to seven, otherwise three: with more it is a different word.
  const std::size_t allowed = name.size() <= 4 ? 1 : name.size() <= 7 ? 2 : 3;
  std::optional<std::string> best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t difference =
        candidate.size() > name.size() ? candidate.size() - name.size() : name.size() - candidate.size();
    if (difference >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate, allowed);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 80;
  const std::string_view shown = truncate_utf8(word, longest);
  return fmt::format("`{}{}`", visible(shown), shown.size() < word.size() ? "…" : "");
}

}  // namespace reeve::base
