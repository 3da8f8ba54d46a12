#include "json/encode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/invisible.h"
#include "base/text.h"
#include "json/write.h"

namespace reeve::json {

namespace {

using base::Member;
using base::Value;

enum class Form { line, pretty, canonical };

// Number of leading bytes that need no escape: printable ASCII except JSON's special characters.
std::size_t count_plain(std::string_view text) noexcept {
  std::size_t count = 0;
  while (count < text.size()) {
    const char c = text[count];
    if (c < ' ' || c > '~' || c == '"' || c == '\\') break;
    ++count;
  }
  return count;
}

class Writer {
 public:
  // Appends to `out`.
  Writer(Form form, std::string& out) : form_(form), out_(out) {}

  void write(const Value& value, std::size_t level) {
    if (const bool* flag = value.as_bool()) {
      out_ += *flag ? "true" : "false";
    } else if (const std::int64_t* integer = value.as_integer()) {
      fmt::format_to(std::back_inserter(out_), "{}", *integer);
    } else if (const double* number = value.as_number()) {
      write_number(*number);
    } else if (const std::string* text = value.as_string()) {
      write_string(*text);
    } else if (const Value::Array* array = value.as_array()) {
      write_array(*array, level);
    } else if (const Value::Object* object = value.as_object()) {
      write_object(*object, level);
    } else {
      out_ += "null";
    }
  }

  // JSON has no infinities and no NaN; they become null.
  void write_number(double number) {
    constexpr double exact = 9'007'199'254'740'992.0;
    if (!std::isfinite(number)) {
      out_ += "null";
    } else if (number == std::trunc(number) && std::abs(number) <= exact) {
      const int digits = form_ == Form::canonical ? 0 : 1;
      fmt::format_to(std::back_inserter(out_), "{:.{}f}", number == 0 ? 0.0 : number, digits);
    } else {
      const std::string digits = fmt::format("{}", number);
      out_ += digits;
      // A floating-point number must not be read back as an integer.
      if (form_ != Form::canonical && digits.find_first_of(".e") == std::string::npos) out_ += ".0";
    }
  }

  // A tool may print arbitrary bytes, but JSON must be UTF-8 (RUN-16).
  void write_string(std::string_view text) {
    out_ += '"';
    write_content(text);
    out_ += '"';
  }

 private:
  // Fast path: most texts need no escapes and are copied at once.
  void write_content(std::string_view text) {
    const std::size_t plain = count_plain(text);
    out_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    if (base::find_invalid_utf8(text)) return write_content(base::replace_invalid_utf8(text));
    while (!text.empty()) {
      const base::Character next = base::first_character(text);
      write_character(next, text.substr(0, next.length));
      text.remove_prefix(next.length);
      const std::size_t more = count_plain(text);
      out_.append(text.substr(0, more));
      text.remove_prefix(more);
    }
  }

  void write_character(base::Character character, std::string_view bytes) {
    switch (character.value) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        // Also escapes characters that JSON allows but a terminal would obey or hide, because documents are shown on
        // terminals (LOG-3). Canonical text is hashed and must not change.
        if (base::is_harmful(character.value) || (form_ != Form::canonical && base::is_invisible(character.value))) {
          write_code(static_cast<std::uint32_t>(character.value));
        } else {
          out_ += bytes;
        }
    }
  }

  void write_code(std::uint32_t number) {
    if (number >= 0x10000) {
      number -= 0x10000;
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", 0xD800 + (number >> 10U));
      number = 0xDC00 + (number & 0x3FFU);
    }
    fmt::format_to(std::back_inserter(out_), "\\u{:04x}", number);
  }

  void write_array(const Value::Array& array, std::size_t level) {
    out_ += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_ += ',';
      break_line(level + 1);
      write(array[i], level + 1);
    }
    if (!array.empty()) break_line(level);
    out_ += ']';
  }

  void write_object(const Value::Object& object, std::size_t level) {
    std::vector<const Member*> members;
    members.reserve(object.size());
    for (const Member& member : object) members.push_back(&member);
    if (form_ == Form::canonical) std::ranges::sort(members, {}, [](const Member* m) -> const auto& { return m->key; });
    out_ += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_ += ',';
      break_line(level + 1);
      write_string(members[i]->key);
      out_ += form_ == Form::pretty ? ": " : ":";
      write(members[i]->value, level + 1);
    }
    if (!object.empty()) break_line(level);
    out_ += '}';
  }

  void break_line(std::size_t level) {
    if (form_ != Form::pretty) return;
    out_ += '\n';
    out_.append(2 * level, ' ');
  }

  Form form_;
  std::string& out_;
};

std::string write(const Value& value, Form form) {
  std::string text;
  Writer(form, text).write(value, 0);
  return text;
}

}  // namespace

void append_string(std::string& json, std::string_view text) { Writer(Form::line, json).write_string(text); }

void append_number(std::string& json, double number) { Writer(Form::line, json).write_number(number); }

void append_value(std::string& json, const Value& value) { Writer(Form::line, json).write(value, 0); }

std::string encode(const Value& value) { return write(value, Form::line); }
std::string encode_pretty(const Value& value) { return write(value, Form::pretty); }
std::string encode_canonical(const Value& value) { return write(value, Form::canonical); }

}  // namespace reeve::json
