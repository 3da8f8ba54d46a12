#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace reeve::runtime {

// One line of a stream, or a piece of one that is too long.
struct Line {
  // Position of its first byte.
  std::uint64_t position = 0;
  // Without the newline; valid only during the call to the sink.
  std::string_view text;
  // More of the same line follows (RUN-16).
  bool is_partial = false;
  // The same line began earlier.
  bool is_continuation = false;
  // Position after its last byte, including the newline.
  std::uint64_t end = 0;

  bool is_whole() const noexcept { return !is_partial && !is_continuation; }
};

// Splits the bytes of one stream into lines. Positions refer to the run's output file, where frame headers and the
// other stream lie between the bytes of this one: they increase, and within one feed() by one per byte.
class LineSplitter {
 public:
  using Sink = std::function<void(const Line&)>;

  // Longer lines are delivered in pieces of at most this many bytes, split between UTF-8 characters.
  static constexpr std::size_t default_max_bytes = std::size_t{1} << 20U;
  // `max_bytes` must be at least 8; `sink` must not throw.
  explicit LineSplitter(Sink sink, std::size_t max_bytes = default_max_bytes);

  // Delivers every line that ends here and buffers the unterminated rest, at most `max_bytes`. Lines that are complete
  // within `bytes` are not copied.
  void feed(std::uint64_t position, std::string_view bytes);
  // Ends the stream: delivers the unterminated rest.
  void finish();
  // Delivers the buffered rest as a piece, so that it need not be read again after a crash.
  void flush();

  // Position from which this stream must be read again after a crash. Not valid during the call to the sink: the text
  // after that line begins at its `end`.
  std::uint64_t consumed() const noexcept { return pending_.empty() ? fed_ : start_; }

 private:
  void deliver(Line line);
  void hold(std::uint64_t position, std::string_view bytes);
  std::size_t complete_pending(std::uint64_t position, std::string_view bytes);
  void cut_pending();

  Sink sink_;
  std::size_t max_bytes_;
  // The unterminated line, and where it began.
  std::string pending_;
  std::uint64_t start_ = 0;
  // Positions of the last four bytes of `pending_`; a split steps back over at most three.
  std::array<std::uint64_t, 4> tail_{};
  std::uint64_t fed_ = 0;
  // A piece of the current line has already been delivered.
  bool is_inside_ = false;
};

}  // namespace reeve::runtime
