#include "cli/shown_id.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::cli {

namespace {

constexpr auto id_heads = std::to_array<std::string_view>({"AP-", "TR-", "EX-", "PA-", "TK-", "TC-", "GR-"});

// The length of the id at the beginning of the text; 0 if there is none.
std::size_t id_length(std::string_view text) {
  const bool has_head = std::ranges::any_of(id_heads, [&](std::string_view head) { return text.starts_with(head); });
  if (!has_head) return 0;
  std::size_t end = 3;
  while (end < text.size() && base::is_ascii_digit(text[end])) ++end;
  const bool goes_on = end < text.size() && (base::is_ascii_letter(text[end]) || text[end] == '_');
  return end == 3 || goes_on ? 0 : end;
}

// After a letter, a digit or one of these, it is a part of another word: a branch, a path, an id with a prefix.
bool is_inside_word(char before) {
  return base::is_ascii_letter(before) || base::is_ascii_digit(before) || std::string_view("/-_.").contains(before);
}

}  // namespace

std::string shown_id(const Call& call, std::string_view id) {
  return call.prefix.empty() ? std::string(id) : fmt::format("{}/{}", call.prefix, id);
}

std::string with_prefix(const Call& call, std::string_view text) {
  if (call.prefix.empty()) return std::string(text);
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = i > 0 && is_inside_word(text[i - 1]) ? 0 : id_length(text.substr(i));
    if (length == 0) {
      shown += text[i++];
      continue;
    }
    shown += shown_id(call, text.substr(i, length));
    i += length;
  }
  return shown;
}

}  // namespace reeve::cli
