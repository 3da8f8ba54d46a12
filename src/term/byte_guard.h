#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::term {

// Filters input for libvterm 0.1, which loops forever on "repeat the last character" (CSI b) if that character has no
// width, and parses numbers without a limit. Repetitions are expanded and numbers cut to four digits; everything else
// passes unchanged.
class ByteGuard {
 public:
  explicit ByteGuard(std::size_t max_repeats) : max_repeats_(max_repeats) {}

  std::string pass(std::string_view bytes);

 private:
  void take(char byte, std::string& out);
  void end_sequence(char byte, std::string& out);

  enum class State { text, escape, sequence };
  State state_ = State::text;
  std::size_t max_repeats_;
  // The unfinished sequence, including its ESC.
  std::string sequence_;
  std::size_t digits_ = 0;
  // The last printed character: one byte, or several in UTF-8.
  std::string last_;
};

}  // namespace reeve::term
