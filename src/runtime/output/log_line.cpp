#include "runtime/output/log_line.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/enum.h"
#include "base/invisible.h"
#include "base/text.h"

namespace reeve::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "first_special counts bytes from the low end");

constexpr std::uint64_t ones = 0x0101010101010101;
constexpr std::uint64_t highs = 0x8080808080808080;

// The high bit of each byte that is zero. Bits above the first one may be wrong.
constexpr std::uint64_t zero_bytes(std::uint64_t word) noexcept { return (word - ones) & ~word & highs; }

// How many of the eight bytes precede the first that cannot be copied as is: a control character, a quote, a backslash,
// DEL or non-ASCII.
std::size_t count_clean(std::uint64_t word) noexcept {
  const std::uint64_t control = (word - 0x20 * ones) & ~word & highs;
  const std::uint64_t special = control | (word & highs) | zero_bytes(word ^ (0x22 * ones)) |
                                zero_bytes(word ^ (0x5C * ones)) | zero_bytes(word ^ (0x7F * ones));
  return static_cast<std::size_t>(std::countr_zero(special)) / 8;
}

bool is_clean(char c) noexcept { return c >= 0x20 && c != '"' && c != '\\' && c != 0x7F; }

// The longest escape of one character; an invalid byte becomes three.
constexpr std::size_t longest_escape = 6;

char* put(char* to, std::string_view text) noexcept {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* put_code(char* to, char32_t character) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  to = put(to, "\\u");
  for (unsigned shift = 16; shift > 0;) {
    shift -= 4;
    *to++ = digits[(static_cast<std::uint32_t>(character) >> shift) & 0xFU];
  }
  return to;
}

// Writes the first character of `text`, which is not clean; returns its length in bytes.
std::size_t put_special(char*& to, std::string_view text) noexcept {
  const char c = text.front();
  if (c == '"' || c == '\\') {
    *to++ = '\\';
    *to++ = c;
    return 1;
  }
  if (c == '\t' || c == '\n' || c == '\r') {
    *to++ = '\\';
    *to++ = c == '\t' ? 't' : c == '\n' ? 'n' : 'r';
    return 1;
  }
  const base::Character next = base::first_character(text);
  if (!next.is_valid) {
    to = put(to, "\uFFFD");
  } else if (base::is_harmful(next.value) || base::is_invisible(next.value)) {
    const auto number = static_cast<std::uint32_t>(next.value);
    if (number < 0x10000) {
      to = put_code(to, next.value);
    } else {
      to = put_code(to, 0xD800 + ((number - 0x10000) >> 10U));
      to = put_code(to, 0xDC00 + ((number - 0x10000) & 0x3FFU));
    }
  } else {
    to = put(to, text.substr(0, next.length));
  }
  return next.length;
}

// Escapes from `at` to at least `stop`; a character that begins before `stop` is processed whole. `to` must have room
// for the result plus one word.
std::size_t escape_until(std::size_t stop, std::string_view text, std::size_t at, char*& to) noexcept {
  while (at < stop) {
    if (text.size() - at >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, sizeof word);
      // Copies a whole word before it is known how much is valid, which is cheaper than a copy of exact length.
      std::memcpy(to, &word, sizeof word);
      const std::size_t clean = count_clean(word);
      at += clean;
      to += clean;
      if (clean == sizeof word) continue;
    } else if (is_clean(text[at])) {
      *to++ = text[at++];
      continue;
    }
    at += put_special(to, text.substr(at));
  }
  return at;
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  // In blocks, to keep the worst-case reservation small.
  constexpr std::size_t block = 4096;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t stop = std::min(text.size(), at + block);
    const std::size_t room = longest_escape * (stop - at + sizeof(std::uint64_t)) + sizeof(std::uint64_t);
    const std::size_t before = out.size();
    out.resize_and_overwrite(before + room, [&](char* start, std::size_t) {
      char* to = start + before;
      at = escape_until(stop, text, at, to);
      return static_cast<std::size_t>(to - start);
    });
  }
}

OutputLineWriter::OutputLineWriter(std::string_view tool, base::RunId run, std::optional<base::ExecutionId> execution,
                                   int attempt) {
  std::string name;
  append_escaped(name, tool);
  const std::string execution_text = execution ? fmt::format("\"{}\"", execution->text()) : "null";
  for (const model::Stream stream : {model::Stream::out, model::Stream::err}) {
    middles_[static_cast<std::size_t>(stream)] =
        fmt::format(R"(","tool":"{}","tool_run_id":"{}","execution_id":{},"attempt":{},"stream":"{}","offset":)", name,
                    run.text(), execution_text, attempt, base::spell(stream));
  }
}

void OutputLineWriter::append(std::string& out, std::string_view timestamp, model::Stream stream,
                              const Line& line) const {
  out += R"({"event":"tool_output","timestamp":")";
  out += timestamp;
  out += middles_[static_cast<std::size_t>(stream)];
  std::array<char, 20> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), line.position).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += line.is_partial ? R"(,"partial":true,"text":")" : R"(,"text":")";
  append_escaped(out, line.text);
  out += "\"}\n";
}

}  // namespace reeve::runtime
