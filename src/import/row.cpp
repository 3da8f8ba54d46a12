#include "import/row.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "json/parse.h"
#include "store/session.h"

namespace reeve::import {

namespace {

using base::Value;
using base::WallTime;
using store::ForeignValue;
using Kind = ForeignValue::Kind;

// 9999-12-31T23:59:59Z.
constexpr double last_second = 253'402'300'799.0;
// Larger numbers are milliseconds: as seconds they would be after the year 5138.
constexpr double first_millisecond = 100'000'000'000.0;

std::optional<WallTime> from_number(double number) {
  if (!std::isfinite(number) || number < 0) return std::nullopt;
  const double seconds = number >= first_millisecond ? number / 1'000 : number;
  if (seconds > last_second) return std::nullopt;
  return WallTime(base::Milliseconds(std::llround(seconds * 1'000)));
}

std::optional<int> read_two(std::string_view text, std::size_t at) {
  if (at + 2 > text.size() || !base::is_ascii_digit(text[at]) || !base::is_ascii_digit(text[at + 1])) {
    return std::nullopt;
  }
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

// Removes "+02:00", "-0530" or "+02" from the end of the text and returns the offset.
std::optional<std::chrono::minutes> take_zone(std::string_view& text) {
  constexpr std::size_t after_day = 10;
  const std::size_t sign = text.find_first_of("+-", std::min(after_day, text.size()));
  if (sign == std::string_view::npos) return std::nullopt;
  const std::string_view zone = text.substr(sign + 1);
  const auto hours = read_two(zone, 0);
  const bool has_colon = zone.size() > 2 && zone[2] == ':';
  const auto minutes = zone.size() > 2 ? read_two(zone, has_colon ? 3 : 2) : std::optional(0);
  const std::size_t length = zone.size() <= 2 ? 2 : has_colon ? 5 : 4;
  if (!hours || !minutes || zone.size() != length || *hours > 23 || *minutes > 59) return std::nullopt;
  const int total = *hours * 60 + *minutes;
  const bool is_west = text[sign] == '-';
  text = text.substr(0, sign);
  return std::chrono::minutes(is_west ? -total : total);
}

std::optional<WallTime> from_text(std::string_view raw) {
  std::string_view text = base::trim(raw);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return from_number(number);
  constexpr std::size_t day = 10;
  constexpr std::size_t minute = 16;
  constexpr std::size_t longest = 40;
  if (text.size() < day || text.size() > longest) return std::nullopt;
  const auto zone = take_zone(text);
  text = base::trim(text);
  std::string spelled(text);
  if (spelled.ends_with('Z') || spelled.ends_with('z')) spelled.pop_back();
  if (spelled.size() == day) spelled += "T00:00:00";
  if (spelled.size() == minute) spelled += ":00";
  if (spelled.size() > day && (spelled[day] == ' ' || spelled[day] == 't')) spelled[day] = 'T';
  const auto time = base::parse_time(spelled + "Z");
  if (!time) return std::nullopt;
  const WallTime moved = *time - zone.value_or(std::chrono::minutes(0));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(moved).time_since_epoch().count();
  const bool is_ours = seconds >= 0 && static_cast<double>(seconds) <= last_second;
  return is_ours ? std::optional(moved) : std::nullopt;
}

std::string cut(std::string text, std::size_t longest) {
  if (text.size() <= longest) return text;
  constexpr std::string_view mark = "…";
  return std::string(base::truncate_utf8(text, longest - mark.size())).append(mark);
}

std::string clean(std::string_view bytes) {
  const std::string text = base::replace_invalid_utf8(bytes);
  return text.find('\0') != std::string::npos ? store::without_nul(text) : text;
}

bool equals(std::string_view left, std::string_view right) {
  return base::to_ascii_lower(left) == base::to_ascii_lower(right);
}

}  // namespace

Columns::Columns(const store::ForeignTable& table) : table_(table), is_used_(table.columns.size(), false) {}

Column Columns::pick(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      if (!equals(table_.columns[i], name)) continue;
      is_used_[i] = true;
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::string> Columns::unused() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    if (!is_used_[i]) names.push_back(table_.columns[i]);
  }
  return names;
}

std::optional<WallTime> parse_old_time(const ForeignValue& value) {
  switch (value.kind) {
    case Kind::null:
      return std::nullopt;
    case Kind::integer:
      return from_number(static_cast<double>(value.integer));
    case Kind::real:
      return from_number(value.real);
    case Kind::text:
    case Kind::blob:
      return from_text(value.bytes);
  }
  return std::nullopt;
}

ForeignValue OldRow::value(Column column) const { return column ? row_.value(*column) : ForeignValue(); }

std::optional<std::string> OldRow::text(Column column, std::size_t longest) const {
  const ForeignValue found = value(column);
  switch (found.kind) {
    case Kind::null:
      return std::nullopt;
    case Kind::integer:
      return std::to_string(found.integer);
    case Kind::real:
      return fmt::format("{}", found.real);
    case Kind::text:
    case Kind::blob:
      // Slightly more than is kept, so that the rest is never scanned.
      return cut(clean(found.bytes.substr(0, longest + 4)), longest);
  }
  return std::nullopt;
}

std::optional<std::string> OldRow::name(Column column, std::size_t longest) const {
  auto found = text(column, longest);
  if (!found) return std::nullopt;
  std::ranges::replace_if(*found, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  std::string trimmed(base::trim(*found));
  return trimmed.empty() ? std::nullopt : std::optional(std::move(trimmed));
}

std::optional<std::string> OldRow::id(Column column) const {
  if (bytes(column) > longest_old_id) return std::nullopt;
  auto found = text(column);
  return found && !found->empty() ? found : std::nullopt;
}

std::optional<std::int64_t> OldRow::integer(Column column) const {
  const ForeignValue found = value(column);
  if (found.kind == Kind::integer) return found.integer;
  if (found.kind != Kind::text) return std::nullopt;
  const std::string_view digits = base::trim(found.bytes);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc() && !digits.empty() && end == digits.data() + digits.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::optional<WallTime> OldRow::time(Column column, std::int64_t& odd) const {
  const ForeignValue found = value(column);
  const auto time = parse_old_time(found);
  const bool is_empty = found.kind == Kind::null || (found.kind == Kind::text && base::trim(found.bytes).empty());
  if (!time && !is_empty) ++odd;
  return time;
}

std::optional<Value> OldRow::json(Column column) const {
  const ForeignValue found = value(column);
  switch (found.kind) {
    case Kind::null:
      return std::nullopt;
    case Kind::integer:
      return Value::integer(found.integer);
    case Kind::real:
      return std::isfinite(found.real) ? std::optional(Value::number(found.real)) : std::nullopt;
    case Kind::text:
    case Kind::blob:
      break;
  }
  if (found.bytes.size() > longest_old_json) return std::nullopt;
  auto parsed = json::parse(found.bytes, {.bytes = longest_old_json});
  return parsed ? std::move(*parsed) : Value::string(clean(found.bytes));
}

std::optional<Value> OldRow::object(Column column) const {
  auto found = json(column);
  if (!found || found->is_null()) return std::nullopt;
  if (found->as_object() != nullptr) return found;
  Value wrapped = Value::object();
  wrapped.set("value", std::move(*found));
  return wrapped;
}

}  // namespace reeve::import
