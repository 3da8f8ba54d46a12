#include "keeper/output_writer.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "keeper/crash_point.h"

namespace reeve::keeper {

namespace {

constexpr std::uint64_t largest_segment = 16ULL << 20U;
constexpr std::uint64_t segments_in_cap = 16;

}  // namespace

OutputWriter::OutputWriter(const os::Folder& folder, std::uint64_t cap)
    : folder_(folder),
      cap_(std::max<std::uint64_t>(cap, 4 * frame_bytes)),
      segment_size_(std::clamp<std::uint64_t>(cap_ / segments_in_cap, frame_bytes, largest_segment)),
      // Uninitialized, so that a silent run does not touch its pages.
      buffer_(new char[frame_bytes]) {}

std::span<char> OutputWriter::room() noexcept {
  return {buffer_.get() + frame_header_bytes, frame_bytes - frame_header_bytes};
}

void OutputWriter::append(std::uint8_t stream, std::size_t length, std::int64_t unix_ns) noexcept {
  const FrameHeader header{
      .length = static_cast<std::uint32_t>(length), .stream = stream, .flags = 0, .unix_ns = unix_ns};
  write_header(header, std::span<char, frame_header_bytes>(buffer_.get(), frame_header_bytes));
  pending_begin_ = 0;
  pending_end_ = frame_header_bytes + length;
  write_pending();
}

bool OutputWriter::is_ready() noexcept {
  if (pending_begin_ != pending_end_) return false;
  if (segments_.empty()) return true;
  while (position_ - segments_.front() > cap_ - std::min<std::uint64_t>(cap_, frame_bytes)) {
    const bool may_go = segments_.size() > 1 && segments_[1] <= consumed_;
    if (!may_go) return false;
    drop_oldest();
  }
  return true;
}

bool OutputWriter::retry() noexcept { return pending_begin_ == pending_end_ || write_pending(); }

void OutputWriter::consume(std::uint64_t position) noexcept { consumed_ = std::max(consumed_, position); }

bool OutputWriter::open_segment() noexcept {
  auto file = folder_.open_file(segment_name(position_), O_WRONLY | O_CREAT | O_APPEND);
  if (!file) {
    error_ = file.error();
    return false;
  }
  file_ = std::move(*file);
  segments_.push_back(position_);
  return true;
}

bool OutputWriter::write_pending() noexcept {
  // A file contains whole frames: a new one begins only at the end of a frame.
  const bool is_full = pending_begin_ == 0 && !segments_.empty() && position_ - segments_.back() >= segment_size_;
  if ((!file_ || is_full) && !open_segment()) return false;
  const std::size_t whole = pending_end_;
#ifdef REEVE_CRASH_POINTS
  if (pending_begin_ == 0 && pending_end_ > 1) {
    // A crash here leaves half a frame on disk.
    const ssize_t half = ::write(file_.get(), buffer_.get(), pending_end_ / 2);
    crash_point("keeper.mid_frame");
    if (half > 0) pending_begin_ = static_cast<std::size_t>(half);
  }
#endif
  while (pending_begin_ < pending_end_) {
    const ssize_t count = ::write(file_.get(), buffer_.get() + pending_begin_, pending_end_ - pending_begin_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_ = count < 0 ? errno : ENOSPC;
      return false;
    }
    pending_begin_ += static_cast<std::size_t>(count);
  }
  error_ = 0;
  position_ += whole;
  return true;
}

void OutputWriter::drop_oldest() noexcept {
  folder_.remove(segment_name(segments_.front()));
  segments_.pop_front();
}

}  // namespace reeve::keeper
