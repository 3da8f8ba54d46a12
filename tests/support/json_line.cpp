#include "tests/support/json_line.h"

#include <charconv>
#include <cstdint>

namespace reeve::testing {

namespace {

void append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6U);
    add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12U);
    add(0x80 | (point >> 6U & 0x3F));
    add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | point >> 18U);
    add(0x80 | (point >> 12U & 0x3F));
    add(0x80 | (point >> 6U & 0x3F));
    add(0x80 | (point & 0x3F));
  }
}

// The length of the UTF-8 sequence at the start of the text; 0 if it is invalid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_no_character = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_no_character ? 0 : length;
}

// Strict: tests must find what a lenient parser would accept.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<Members> document() {
    Members members;
    skip_blanks();
    if (!object(&members)) return std::nullopt;
    skip_blanks();
    return rest_.empty() ? std::optional(std::move(members)) : std::nullopt;
  }

  std::optional<std::vector<std::string>> list() {
    std::vector<std::string> elements;
    skip_blanks();
    if (!take("[")) return std::nullopt;
    skip_blanks();
    if (take("]")) return elements;
    do {
      skip_blanks();
      const std::string_view before = rest_;
      if (!value()) return std::nullopt;
      elements.emplace_back(before.substr(0, before.size() - rest_.size()));
      skip_blanks();
    } while (take(","));
    return take("]") ? std::optional(std::move(elements)) : std::nullopt;
  }

 private:
  static constexpr int deepest = 64;

  void skip_blanks() {
    while (!rest_.empty() && std::string_view(" \t\r\n").contains(rest_.front())) rest_.remove_prefix(1);
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool object(Members* members) {
    if (!take("{")) return false;
    skip_blanks();
    if (take("}")) return true;
    Members own;
    Members& found = members != nullptr ? *members : own;
    do {
      skip_blanks();
      std::string key;
      if (!string(key)) return false;
      skip_blanks();
      if (!take(":")) return false;
      skip_blanks();
      const std::string_view before = rest_;
      std::string text;
      const bool is_text = before.starts_with('"');
      if (!(is_text ? string(text) : value())) return false;
      if (!is_text) text = before.substr(0, before.size() - rest_.size());
      if (!found.emplace(std::move(key), std::move(text)).second) return false;
      skip_blanks();
    } while (take(","));
    return take("}");
  }

  bool array() {
    if (!take("[")) return false;
    skip_blanks();
    if (take("]")) return true;
    do {
      skip_blanks();
      if (!value()) return false;
      skip_blanks();
    } while (take(","));
    return take("]");
  }

  bool value() {
    if (++depth_ > deepest) return false;
    std::string ignored;
    const bool is_good = rest_.starts_with('{')   ? object(nullptr)
                         : rest_.starts_with('[') ? array()
                         : rest_.starts_with('"') ? string(ignored)
                                                  : take("true") || take("false") || take("null") || number();
    --depth_;
    return is_good;
  }

  bool digits() {
    const std::size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool number() {
    take("-");
    if (!take("0") && !digits()) return false;
    if (take(".") && !digits()) return false;
    if (!take("e") && !take("E")) return true;
    if (!take("+")) take("-");
    return digits();
  }

  std::optional<std::uint32_t> hex() {
    std::uint32_t number = 0;
    if (rest_.size() < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, number, 16);
    if (error != std::errc() || end != rest_.data() + 4) return std::nullopt;
    rest_.remove_prefix(4);
    return number;
  }

  bool escape(std::string& text) {
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (rest_.empty()) return false;
    if (const std::size_t at = names.find(rest_.front()); at != std::string_view::npos) {
      text += meanings[at];
      rest_.remove_prefix(1);
      return true;
    }
    if (!take("u")) return false;
    auto point = hex();
    if (!point || (*point >= 0xDC00 && *point < 0xE000)) return false;
    if (*point >= 0xD800 && *point < 0xDC00) {
      if (!take("\\u")) return false;
      const auto low = hex();
      if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
      point = 0x10000 + ((*point - 0xD800) << 10U) + (*low - 0xDC00);
    }
    append_utf8(text, *point);
    return true;
  }

  bool string(std::string& text) {
    if (!take("\"")) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      if (take("\\")) {
        if (!escape(text)) return false;
        continue;
      }
      const std::size_t length = sequence_length(rest_);
      if (length == 0 || static_cast<unsigned char>(rest_.front()) < 0x20) return false;
      text += rest_.substr(0, length);
      rest_.remove_prefix(length);
    }
    return take("\"");
  }

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

std::optional<Members> parse_object(std::string_view text) { return Reader(text).document(); }

std::optional<std::vector<std::string>> parse_array(std::string_view text) { return Reader(text).list(); }

}  // namespace reeve::testing
