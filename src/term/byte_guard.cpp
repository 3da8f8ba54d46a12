#include "term/byte_guard.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace reeve::term {

namespace {

constexpr char escape = '\x1b';
constexpr std::size_t max_digits = 4;
// Longer ones are not control sequences.
constexpr std::size_t longest_sequence = 256;

bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }
bool is_control(char byte) noexcept { return static_cast<unsigned char>(byte) < 0x20 || byte == '\x7f'; }

}  // namespace

std::string ByteGuard::pass(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (const char byte : bytes) take(byte, out);
  return out;
}

void ByteGuard::take(char byte, std::string& out) {
  if (byte == escape) {
    // Discards an unfinished sequence.
    state_ = State::escape;
    return;
  }
  if (state_ == State::escape) {
    const bool begins = byte == '[';
    state_ = begins ? State::sequence : State::text;
    sequence_ = "\x1b[";
    digits_ = 0;
    if (!begins) (out += escape) += byte;
    return;
  }
  if (state_ == State::sequence) {
    const bool is_end = byte >= '@' && byte <= '~';
    if (is_end) return end_sequence(byte, out);
    digits_ = base::is_ascii_digit(byte) ? digits_ + 1 : 0;
    // Control characters such as line ends take effect immediately, even inside a sequence.
    if (is_control(byte)) {
      out += byte;
    } else if (digits_ <= max_digits && sequence_.size() < longest_sequence) {
      sequence_ += byte;
    }
    return;
  }
  out += byte;
  if (is_control(byte)) return;
  constexpr std::size_t longest_character = 4;
  if (is_continuation(byte) && !last_.empty() && last_.size() < longest_character) {
    last_ += byte;
  } else {
    last_ = byte;
  }
}

void ByteGuard::end_sequence(char byte, std::string& out) {
  state_ = State::text;
  if (byte != 'b') {
    (out += sequence_) += byte;
    return;
  }
  std::size_t count = 1;
  const std::string_view number = std::string_view(sequence_).substr(2);
  std::from_chars(number.data(), number.data() + number.size(), count);
  if (base::find_invalid_utf8(last_)) return;
  for (std::size_t i = 0; i < std::min(std::max<std::size_t>(count, 1), max_repeats_); ++i) out += last_;
}

}  // namespace reeve::term
