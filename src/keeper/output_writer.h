#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>

#include "keeper/frame.h"
#include "os/beneath.h"

namespace reeve::keeper {

// Appends what the tool prints to the output files of its attempt. Keeps at most `cap` bytes: the oldest file goes, but
// never one that has not been consumed; rather nothing more is taken.
class OutputWriter {
 public:
  // Goes on behind what is there; the folder must outlive it.
  OutputWriter(const os::Folder& folder, std::uint64_t cap);

  // Where the next payload is to be put, and how much of it.
  std::span<char> room() noexcept;
  // The first `length` bytes of room() as a frame. Only when is_ready().
  void append(std::uint8_t stream, std::size_t length, std::int64_t unix_ns) noexcept;

  // False while the last frame is not written (the disk is full), or there is no room under the cap.
  bool is_ready() noexcept;
  // Why the last frame could not be written; 0 when it could.
  int error_number() const noexcept { return error_; }
  // Tries again what could not be written.
  bool retry() noexcept;
  void consume(std::uint64_t position) noexcept;
  // The tool has ended: what is left of its output is little, and nobody is held by waiting with it.
  void lift_cap() noexcept { cap_ = std::numeric_limits<std::uint64_t>::max(); }

  // Of the oldest frame that is kept.
  std::uint64_t begin() const noexcept { return segments_.empty() ? 0 : segments_.front(); }
  // Behind the last whole frame.
  std::uint64_t position() const noexcept { return position_; }

 private:
  bool open_segment() noexcept;
  bool write_pending() noexcept;
  void drop_oldest() noexcept;

  const os::Folder& folder_;
  std::uint64_t cap_;
  std::uint64_t segment_size_;
  // Where each file begins, the last being written to.
  std::deque<std::uint64_t> segments_;
  os::Fd file_;
  std::uint64_t position_ = 0;
  std::uint64_t consumed_ = 0;
  // A frame that is being written: what is left of it in the buffer.
  std::size_t pending_begin_ = 0;
  std::size_t pending_end_ = 0;
  int error_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace reeve::keeper
