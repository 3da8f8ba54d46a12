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
  // Of its first byte.
  std::uint64_t position = 0;
  // Without its end; valid while the line is delivered.
  std::string_view text;
  // More of the same line follows (RUN-16).
  bool is_partial = false;
  // The same line began earlier.
  bool is_continuation = false;
  // Behind its last byte, the newline included.
  std::uint64_t end = 0;

  bool is_whole() const noexcept { return !is_partial && !is_continuation; }
};

// Cuts the bytes of one stream into lines. Positions are those of the run's output, where frames of another stream and
// headers lie between the bytes of this one: they grow, and within one feed by one a byte.
class LineSplitter {
 public:
  using Sink = std::function<void(const Line&)>;

  // A longer line comes in pieces of at most this many bytes, cut between characters of UTF-8.
  static constexpr std::size_t default_max_bytes = std::size_t{1} << 20U;
  // `max_bytes` is at least 8; `sink` does not throw.
  explicit LineSplitter(Sink sink, std::size_t max_bytes = default_max_bytes);

  // Delivers every line that ends here. Holds back what has no end yet: never more than the longest line. Lines that
  // lie whole within these bytes are not copied.
  void feed(std::uint64_t position, std::string_view bytes);
  // The stream is over: delivers what has no newline.
  void finish();
  // Delivers what is held back now as a piece, so that no more of the stream must be read again after a crash.
  void flush();

  // From where this stream must be read again to go on after a crash. Not to be asked while a line is delivered: what
  // follows that line begins at its `end`.
  std::uint64_t consumed() const noexcept { return pending_.empty() ? fed_ : start_; }

 private:
  void deliver(Line line);
  void hold(std::uint64_t position, std::string_view bytes);
  std::size_t complete_pending(std::uint64_t position, std::string_view bytes);
  void cut_pending();

  Sink sink_;
  std::size_t max_bytes_;
  // The line that has no end yet, and where it began.
  std::string pending_;
  std::uint64_t start_ = 0;
  // Positions of the last four bytes of `pending_`: a cut steps back over three at most.
  std::array<std::uint64_t, 4> tail_{};
  std::uint64_t fed_ = 0;
  // A piece of the current line was delivered already.
  bool is_inside_ = false;
};

}  // namespace reeve::runtime
