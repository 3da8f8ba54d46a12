#include "keeper/output_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace reeve::keeper {

namespace {

constexpr std::size_t read_bytes = 4 * frame_bytes;

std::expected<std::vector<std::uint64_t>, int> list_segments(const os::Folder& folder) {
  std::vector<std::uint64_t> starts;
  auto fd = folder.open_file(".", O_RDONLY | O_DIRECTORY);
  if (!fd) return std::unexpected(fd.error());
  DIR* entries = ::fdopendir(fd->get());
  if (entries == nullptr) return std::unexpected(errno);
  // The stream owns the descriptor.
  static_cast<void>(fd->release());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local to this function.
  while (const dirent* entry = ::readdir(entries)) {
    if (const auto start = segment_position(entry->d_name)) starts.push_back(*start);
  }
  ::closedir(entries);
  std::sort(starts.begin(), starts.end());
  return starts;
}

}  // namespace

bool OutputReader::open_segment(std::uint64_t start) {
  auto file = folder_->open_file(segment_name(start), O_RDONLY);
  if (!file) {
    note_failure(file.error());
    return false;
  }
  file_ = std::move(*file);
  segment_ = start;
  position_ = start;
  begin_ = end_ = 0;
  return true;
}

void OutputReader::note_failure(int error_number) noexcept {
  lacks_descriptors_ = error_number == EMFILE || error_number == ENFILE;
}

bool OutputReader::seek(std::uint64_t position) {
  const auto listed = list_segments(*folder_);
  if (!listed) note_failure(listed.error());
  if (!listed || listed->empty()) return false;
  const std::vector<std::uint64_t>& starts = *listed;
  const auto after = std::upper_bound(starts.begin(), starts.end(), position);
  // The last file that begins at or before the position; if the oldest begins after it, a part was dropped.
  if (!open_segment(after == starts.begin() ? starts.front() : *(after - 1))) return false;
  while (position_ < position) {
    const auto header = peek_header();
    if (!header) break;
    const std::uint64_t frame_end = position_ + frame_header_bytes + header->length;
    if (frame_end > position) break;
    // Skip the frame, without reading bytes that are not buffered.
    const std::size_t length = frame_end - position_;
    if (end_ - begin_ >= length) {
      begin_ += length;
    } else {
      begin_ = end_ = 0;
    }
    position_ = frame_end;
  }
  return true;
}

std::optional<Frame> OutputReader::next() {
  lacks_descriptors_ = false;
  if (!file_ && !seek(position_)) return std::nullopt;
  auto header = peek_header();
  if (!header && position_ > segment_ && begin_ == end_) {
    // The file ends with a whole frame: the next file, if any, begins here.
    if (!open_segment(position_) && !(is_dropped() && seek(position_))) return std::nullopt;
    header = peek_header();
  }
  if (!header || !fill(frame_header_bytes + header->length)) return std::nullopt;
  Frame frame{*header, position_, {buffer_.data() + begin_ + frame_header_bytes, header->length}};
  begin_ += frame_header_bytes + header->length;
  position_ = frame.end();
  return frame;
}

// The current file, and perhaps later ones, was dropped while it was read.
bool OutputReader::is_dropped() const noexcept {
  struct stat status{};
  return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

// Buffers at least `wanted` bytes from the position, if the file has them.
bool OutputReader::fill(std::size_t wanted) {
  if (end_ - begin_ >= wanted) return true;
  if (buffer_.empty()) buffer_.resize(read_bytes);
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < wanted) {
    const auto at = static_cast<off_t>(position_ - segment_ + end_);
    const ssize_t count = ::pread(file_.get(), buffer_.data() + end_, buffer_.size() - end_, at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    end_ += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<FrameHeader> OutputReader::peek_header() {
  if (!fill(frame_header_bytes)) return std::nullopt;
  return read_header(std::span<const char, frame_header_bytes>(buffer_.data() + begin_, frame_header_bytes));
}

}  // namespace reeve::keeper
