#pragma once

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/describe.h"

namespace reeve::json {

// Reads described types directly from JSON in the form that encode() gives plain data: no blanks, strings of printable
// ASCII without escapes, only known keys, each at most once. Much faster than building a tree, for data that is read
// often and was written by Reeve. Returns false for anything else, whether invalid or merely unusual; the caller then
// uses json::parse and from_value. Whatever it accepts has the same meaning to them.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) noexcept : rest_(text) {}

  // The whole input has been read.
  bool is_over() const noexcept { return rest_.empty(); }

  bool read(std::string& out) {
    const auto text = take_text();
    if (text) out.assign(*text);
    return text.has_value();
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  bool read(T& out) {
    const std::string_view digits = take_number();
    return digits.find_first_of(".eE") == std::string_view::npos && convert(digits, out);
  }
  bool read(double& out) { return convert(take_number(), out); }

  template <class T>
  bool read(std::optional<T>& out) {
    if (skip("null")) return out.reset(), true;
    return read(out.emplace());
  }

  template <class T>
  bool read(std::vector<T>& out) {
    if (!skip("[")) return false;
    if (skip("]")) return true;
    do {
      if (!read(out.emplace_back())) return false;
    } while (skip(","));
    return skip("]");
  }

  template <class T>
  bool read(std::map<std::string, T>& out) {
    if (!skip("{")) return false;
    if (skip("}")) return true;
    do {
      std::string key;
      if (!read(key) || !skip(":")) return false;
      const auto [place, is_new] = out.try_emplace(std::move(key));
      if (!is_new || !read(place->second)) return false;
    } while (skip(","));
    return skip("}");
  }

  template <DescribedStruct T>
  bool read(T& out) {
    if (!skip("{")) return false;
    if (skip("}")) return true;
    std::uint64_t seen = 0;
    do {
      const auto key = take_text();
      if (!key || !skip(":") || !read_member(out, *key, seen)) return false;
    } while (skip(","));
    return skip("}");
  }

 private:
  template <DescribedStruct T>
  bool read_member(T& out, std::string_view key, std::uint64_t& seen) {
    static_assert(boost::mp11::mp_size<MembersOf<T>>::value <= 64);
    bool is_read = false;
    std::uint64_t bit = 1;
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
      const bool is_it = key == base::without_keyword_mark(member.name) && (seen & bit) == 0;
      if (is_it) {
        seen |= bit;
        is_read = read(out.*member.pointer);
      }
      bit <<= 1U;
    });
    return is_read;
  }

  bool skip(std::string_view word) noexcept {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string_view> take_text() noexcept {
    if (!skip("\"")) return std::nullopt;
    std::size_t length = 0;
    while (length < rest_.size() && rest_[length] >= ' ' && rest_[length] <= '~' && rest_[length] != '"' &&
           rest_[length] != '\\') {
      ++length;
    }
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return skip("\"") ? std::optional(text) : std::nullopt;
  }

  // A number in JSON syntax; empty if there is none.
  std::string_view take_number() noexcept {
    const std::string_view number = rest_.substr(0, rest_.find_first_not_of("+-.0123456789eE"));
    rest_.remove_prefix(number.size());
    const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (digits.empty() || !is_digit(digits.front()) || !is_digit(digits.back())) return {};
    const bool has_leading_zero = digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
    const std::size_t point = digits.find('.');
    const bool has_bare_point = point != std::string_view::npos && !is_digit(digits[point + 1]);
    return has_leading_zero || has_bare_point ? std::string_view() : number;
  }

  template <class T>
  static bool convert(std::string_view digits, T& out) noexcept {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  }

  std::string_view rest_;
};

}  // namespace reeve::json
