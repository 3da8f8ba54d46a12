#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>

#include "keeper/frame.h"
#include "os/beneath.h"

namespace reeve::keeper {

// Appends the tool's output to the output files of its attempt. Keeps at most `cap` bytes by dropping the oldest file,
// but never one that has not been consumed: then no more output is accepted.
class OutputWriter {
 public:
  // Continues after existing output; the folder must outlive it.
  OutputWriter(const os::Folder& folder, std::uint64_t cap);

  // The buffer for the next payload.
  std::span<char> room() noexcept;
  // Writes the first `length` bytes of room() as a frame. Requires is_ready().
  void append(std::uint8_t stream, std::size_t length, std::int64_t unix_ns) noexcept;

  // False while the last frame is not written (disk full), or the cap is reached.
  bool is_ready() noexcept;
  // Why the last frame could not be written; 0 if it could.
  int error_number() const noexcept { return error_; }
  // Tries to write the pending frame again.
  bool retry() noexcept;
  void consume(std::uint64_t position) noexcept;
  // The tool has ended: its remaining output is small, and holding it back would no longer slow the tool.
  void lift_cap() noexcept { cap_ = std::numeric_limits<std::uint64_t>::max(); }

  // Position of the oldest kept frame.
  std::uint64_t begin() const noexcept { return segments_.empty() ? 0 : segments_.front(); }
  // Position after the last whole frame.
  std::uint64_t position() const noexcept { return position_; }

 private:
  bool open_segment() noexcept;
  bool write_pending() noexcept;
  void drop_oldest() noexcept;

  const os::Folder& folder_;
  std::uint64_t cap_;
  std::uint64_t segment_size_;
  // Start positions of the files; the last one is being written.
  std::deque<std::uint64_t> segments_;
  os::Fd file_;
  std::uint64_t position_ = 0;
  std::uint64_t consumed_ = 0;
  // The unwritten part of the current frame in the buffer.
  std::size_t pending_begin_ = 0;
  std::size_t pending_end_ = 0;
  int error_ = 0;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace reeve::keeper
