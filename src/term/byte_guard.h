#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::term {

// Stands before libvterm 0.1, which never comes back from «repeat the last character» (CSI b) when that has no width,
// and adds up numbers without a bound. Repetitions are written out, numbers cut to four digits; all else passes.
class ByteGuard {
 public:
  explicit ByteGuard(std::size_t most_repeats) : most_repeats_(most_repeats) {}

  std::string pass(std::string_view bytes);

 private:
  void take(char byte, std::string& out);
  void end_sequence(char byte, std::string& out);

  enum class State { text, escape, sequence };
  State state_ = State::text;
  std::size_t most_repeats_;
  // What a sequence has had so far, from its ESC on.
  std::string sequence_;
  std::size_t digits_ = 0;
  // The last character that was printed: a byte, or several as UTF-8.
  std::string last_;
};

}  // namespace reeve::term
