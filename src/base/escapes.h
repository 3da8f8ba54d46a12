#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Streaming decoders for escaped text. Each decoded byte keeps the range of input bytes that it came from.
namespace reeve::base {

struct DecodedByte {
  unsigned char byte = 0;
  // The range of input bytes that this byte was decoded from: [start, end).
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  // True if the byte was not escaped.
  bool is_plain() const noexcept { return end - start == 1; }
};

// Escapes of a JSON string: \" \\ \/ \b \f \n \r \t \u0041 and surrogate pairs. A backslash that does not start an
// escape is passed through unchanged. Buffers at most one escape, or one surrogate pair.
class JsonEscapes {
 public:
  template <class Sink>
  void feed(DecodedByte in, Sink&& sink) {
    if (count_ == 0 && in.byte != '\\') {
      sink(in);
      return;
    }
    held_[count_++] = in;
    settle(sink);
  }

  // Start of the incomplete escape, or nullptr.
  const DecodedByte* pending() const noexcept { return count_ > 0 ? held_.data() : nullptr; }

 private:
  static constexpr std::size_t escape_bytes = 6;
  static constexpr std::uint32_t replacement = 0xFFFD;

  template <class Sink>
  void settle(Sink& sink) {
    const unsigned char last = held_[count_ - 1].byte;
    const std::size_t within = (count_ - 1) % escape_bytes;
    const bool is_second = count_ > escape_bytes;
    if (within == 0 && is_second && last != '\\') return give_up(sink);
    if (within == 1 && last != 'u') {
      const int meant = is_second ? -1 : short_escape(last);
      if (meant < 0) return give_up(sink);
      const DecodedByte whole{static_cast<unsigned char>(meant), held_[0].start, held_[1].end};
      count_ = 0;
      sink(whole);
      return;
    }
    if (within >= 2 && hex_digit(last) < 0) return give_up(sink);
    if (within != escape_bytes - 1) return;
    const std::uint32_t unit = code_unit(is_second ? escape_bytes : 0);
    if (!is_second) {
      if (unit >= 0xD800 && unit <= 0xDBFF) return;  // the low surrogate comes next
      return emit(unit >= 0xDC00 && unit <= 0xDFFF ? replacement : unit, sink);
    }
    if (unit < 0xDC00 || unit > 0xDFFF) return give_up(sink);
    emit(0x10000 + ((code_unit(0) - 0xD800) << 10U) + (unit - 0xDC00), sink);
  }

  // The buffered bytes are not an escape, or only half a surrogate pair: emits the first part and decodes the rest
  // again.
  template <class Sink>
  void give_up(Sink& sink) {
    const std::array<DecodedByte, 2 * escape_bytes> held = held_;
    const std::size_t count = count_;
    std::size_t used = 1;
    if (count > escape_bytes) {
      count_ = escape_bytes;
      emit(replacement, sink);
      used = escape_bytes;
    } else {
      count_ = 0;
      sink(held[0]);
    }
    for (std::size_t i = used; i < count; ++i) feed(held[i], sink);
  }

  // Encodes the character as UTF-8, decoded from the first `count_` buffered bytes.
  template <class Sink>
  void emit(std::uint32_t character, Sink& sink) {
    const std::uint64_t start = held_[0].start;
    const std::uint64_t end = held_[count_ - 1].end;
    count_ = 0;
    const auto put = [&](std::uint32_t byte) { sink(DecodedByte{static_cast<unsigned char>(byte), start, end}); };
    if (character < 0x80) return put(character);
    if (character < 0x800) {
      put(0xC0U | (character >> 6U));
    } else if (character < 0x10000) {
      put(0xE0U | (character >> 12U));
      put(0x80U | ((character >> 6U) & 0x3FU));
    } else {
      put(0xF0U | (character >> 18U));
      put(0x80U | ((character >> 12U) & 0x3FU));
      put(0x80U | ((character >> 6U) & 0x3FU));
    }
    put(0x80U | (character & 0x3FU));
  }

  std::uint32_t code_unit(std::size_t escape) const noexcept {
    std::uint32_t unit = 0;
    for (std::size_t i = escape + 2; i < escape + escape_bytes; ++i) {
      unit = unit << 4U | static_cast<std::uint32_t>(hex_digit(held_[i].byte));
    }
    return unit;
  }

  std::array<DecodedByte, 2 * escape_bytes> held_{};
  std::size_t count_ = 0;

 public:
  // The character that the letter after a backslash stands for; -1 if there is none, or if more digits must follow.
  static int short_escape(unsigned char letter) noexcept {
    switch (letter) {
      case '"':
      case '\\':
      case '/':
        return letter;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        return -1;
    }
  }

  // -1: not a hex digit.
  static int hex_digit(unsigned char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  }
};

// %41 of URLs and forms; hex digits in either case.
class PercentEscapes {
 public:
  template <class Sink>
  void feed(DecodedByte in, Sink&& sink) {
    if (count_ == 0 && in.byte != '%') {
      sink(in);
      return;
    }
    held_[count_++] = in;
    if (count_ == 1) return;
    if (JsonEscapes::hex_digit(in.byte) < 0) {
      const std::array<DecodedByte, 3> held = held_;
      const std::size_t count = count_;
      count_ = 0;
      sink(held[0]);
      for (std::size_t i = 1; i < count; ++i) feed(held[i], sink);
      return;
    }
    if (count_ < 3) return;
    const int value = JsonEscapes::hex_digit(held_[1].byte) << 4 | JsonEscapes::hex_digit(held_[2].byte);
    const DecodedByte whole{static_cast<unsigned char>(value), held_[0].start, held_[2].end};
    count_ = 0;
    sink(whole);
  }

  const DecodedByte* pending() const noexcept { return count_ > 0 ? held_.data() : nullptr; }

 private:
  std::array<DecodedByte, 3> held_{};
  std::size_t count_ = 0;
};

}  // namespace reeve::base
