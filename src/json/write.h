#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "json/describe.h"

// Writes described types directly as JSON text, identical to encode(to_value(value)) but without building the tree: for
// responses with many records.
namespace reeve::json {

void append_string(std::string& json, std::string_view text);
void append_number(std::string& json, double number);
void append_value(std::string& json, const base::Value& value);

// Appends the value.
template <class T>
void append(std::string& json, const T& value);

namespace detail {

inline void append_one(std::string& json, bool value) { json += value ? "true" : "false"; }
inline void append_one(std::string& json, double value) { append_number(json, value); }
inline void append_one(std::string& json, const std::string& value) { append_string(json, value); }
inline void append_one(std::string& json, const base::Value& value) { append_value(json, value); }

template <std::integral T>
  requires(!std::same_as<T, bool>)
void append_one(std::string& json, T value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::int64_t>(value)).ptr;
  json.append(digits.data(), end);
}

// Words, times and ids contain no characters that JSON escapes.
inline void append_plain(std::string& json, std::string_view text) {
  json += '"';
  json += text;
  json += '"';
}
inline void append_one(std::string& json, base::WallTime value) { append_plain(json, base::format_time(value)); }
template <base::DescribedEnum E>
void append_one(std::string& json, E value) {
  append_plain(json, base::spell(value));
}
template <class Noun>
void append_one(std::string& json, base::Id<Noun> id) {
  append_plain(json, id.text());
}

template <class T>
void append_one(std::string& json, const std::optional<T>& value) {
  if (value) {
    append(json, *value);
  } else {
    json += "null";
  }
}

template <class T>
void append_one(std::string& json, const std::vector<T>& values) {
  json += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) json += ',';
    append(json, values[i]);
  }
  json += ']';
}

template <class T>
void append_one(std::string& json, const std::map<std::string, T>& values) {
  json += '{';
  bool is_first = true;
  for (const auto& [key, value] : values) {
    if (!is_first) json += ',';
    is_first = false;
    append_string(json, key);
    json += ':';
    append(json, value);
  }
  json += '}';
}

template <DescribedStruct T>
void append_one(std::string& json, const T& value) {
  json += '{';
  bool is_first = true;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if (!is_first) json += ',';
    is_first = false;
    append_plain(json, base::without_keyword_mark(member.name));
    json += ':';
    append(json, value.*member.pointer);
  });
  json += '}';
}

}  // namespace detail

template <class T>
void append(std::string& json, const T& value) {
  detail::append_one(json, value);
}

}  // namespace reeve::json
