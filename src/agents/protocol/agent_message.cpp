#include "agents/protocol/agent_message.h"

#include <algorithm>
#include <charconv>

#include "agents/protocol/agent_protocol.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::int64_t max_count = 1'000'000'000'000;
constexpr std::size_t escape_size = 6;

// The code unit of an escape with four hexadecimal digits at that place.
std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), escape_size);
  if (escape.size() < escape_size || !escape.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* end = escape.data() + escape.size();
  const auto [stop, error] = std::from_chars(escape.data() + 2, end, unit, 16);
  return error == std::errc() && stop == end ? std::optional(unit) : std::nullopt;
}

bool is_high(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

std::string replace_half_pairs(std::string_view text) {
  std::string mended;
  mended.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<unsigned> unit = text[at] == '\\' ? unit_at(text, at) : std::nullopt;
    std::size_t size = text[at] == '\\' ? 2 : 1;
    if (unit) {
      size = escape_size;
      const std::optional<unsigned> next = unit_at(text, at + size);
      if (is_high(*unit) && next && is_low(*next)) {
        size += escape_size;
      } else if (is_high(*unit) || is_low(*unit)) {
        mended += "\\ufffd";
        at += size;
        continue;
      }
    }
    mended += text.substr(at, size);
    at += size;
  }
  return mended;
}

}  // namespace

std::optional<Value> parse_message(std::string_view text) {
  if (text.size() > max_agent_line) return std::nullopt;
  const json::ParseLimits limits = {.bytes = 4 * max_agent_line};
  auto message = json::parse(text, limits);
  if (!message) message = json::parse(replace_half_pairs(base::replace_invalid_utf8(text)), limits);
  return message ? std::optional(std::move(*message)) : std::nullopt;
}

const Value& member_of(const Value& value, std::string_view key) {
  static const Value nothing;
  const Value* found = value.find(key);
  return found != nullptr ? *found : nothing;
}

std::optional<std::string> name_of(const Value& value, std::string_view key) {
  const std::string* text = member_of(value, key).as_string();
  const bool is_name = text != nullptr && !text->empty() && text->size() <= max_agent_name;
  return is_name ? std::optional(*text) : std::nullopt;
}

std::int64_t count_of(const Value& value, std::string_view key) {
  const Value& found = member_of(value, key);
  if (const std::int64_t* whole = found.as_integer()) return std::clamp<std::int64_t>(*whole, 0, max_count);
  const double* number = found.as_number();
  if (number == nullptr || !(*number > 0)) return 0;
  return *number < static_cast<double>(max_count) ? static_cast<std::int64_t>(*number) : max_count;
}

bool is_true(const Value& value, std::string_view key) {
  const bool* flag = member_of(value, key).as_bool();
  return flag != nullptr && *flag;
}

std::string bounded_text(std::string_view text) {
  std::string valid = base::replace_invalid_utf8(base::truncate_utf8(text, max_event_text));
  valid.resize(base::truncate_utf8(valid, max_event_text).size());
  return valid;
}

std::string result_digest(std::string_view text) { return "sha256:" + base::sha256_hex(text); }

}  // namespace reeve::agents
