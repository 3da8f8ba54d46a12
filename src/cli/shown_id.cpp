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

// Fields of records in full (view/run_text.h, view/approval_text.h) that begin with an id.
constexpr auto id_fields = std::to_array<std::string_view>(
    {"approval_id", "tool_run_id", "execution_id", "patch_id", "root_id", "task_id", "call_id", "grant_id", "asks"});

// After a letter, a digit or one of these, it is a part of another word: a branch, a path, an id with a prefix.
bool is_inside_word(char before) {
  return base::is_ascii_letter(before) || base::is_ascii_digit(before) || std::string_view("/-_.").contains(before);
}

// The length of the escape sequence at the beginning of the text; 0 if there is none.
std::size_t escape_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string with_first_prefixed(const Call& call, std::string_view line) {
  char before = ' ';
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (const std::size_t escape = escape_length(line.substr(i)); escape > 0) {
      i += escape - 1;
      before = ' ';
      continue;
    }
    const std::size_t length = is_inside_word(before) ? 0 : id_length(line.substr(i));
    if (length > 0) {
      return fmt::format("{}{}{}", line.substr(0, i), shown_id(call, line.substr(i, length)), line.substr(i + length));
    }
    before = line[i];
  }
  return std::string(line);
}

bool begins_with_id(std::string_view line) {
  line.remove_prefix(escape_length(line));
  const std::string_view key = line.substr(0, line.find_first_of(" \t"));
  return std::ranges::find(id_fields, key) != id_fields.end();
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

std::string with_prefixed_fields(const Call& call, std::string_view text) {
  if (call.prefix.empty()) return std::string(text);
  std::string shown;
  bool is_first = true;
  for (const std::string_view line : base::split(text, '\n')) {
    if (!is_first) shown += '\n';
    shown += is_first || begins_with_id(line) ? with_first_prefixed(call, line) : std::string(line);
    is_first = false;
  }
  return shown;
}

}  // namespace reeve::cli
