#include "runtime/output/combined_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <ranges>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = std::size_t{64} << 10U;

// Up to `count` bytes from `offset`; nothing if the file cannot be read.
std::optional<std::string> read_at(int fd, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t size = 0;
  while (size < count) {
    const ssize_t got = ::pread(fd, bytes.data() + size, count - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

// The last whole lines within `bytes`; nothing if the file cannot be read.
std::optional<std::string> read_last_lines(int fd, std::size_t bytes) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes));
  // One extra byte shows whether a line begins there.
  const std::uint64_t start = size - count;
  auto text = read_at(fd, start > 0 ? start - 1 : 0, start > 0 ? count + 1 : count);
  if (!text) return std::nullopt;
  if (start > 0) text->erase(0, std::min(text->find('\n'), text->size() - 1) + 1);
  text->resize(text->rfind('\n') + 1);
  return text;
}

}  // namespace

CombinedLog::CombinedLog(fs::path path, const model::LogSettings& settings)
    : path_(std::move(path)), settings_(settings) {
  open();
}

void CombinedLog::open() {
  // O_NONBLOCK: opening a pipe in its place must not hang.
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  file_ = os::Fd(::open(path_.c_str(), flags, 0600));
  if (!file_) fail("cannot open", errno);
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) fail("cannot open", errno);
  if (!S_ISREG(status.st_mode)) {
    file_ = os::Fd();
    fail("cannot open", EINVAL);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = static_cast<std::uint64_t>(status.st_size);
  undo_to_.reset();
  drop_torn_line();
}

// LOG-1: removes the unterminated line of a killed writer.
void CombinedLog::drop_torn_line() {
  std::uint64_t end = size_;
  while (end > 0) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(end, block_bytes));
    const auto block = read_at(file_.get(), end - count, count);
    if (!block) fail("cannot read", errno);
    const std::size_t newline = block->rfind('\n');
    end -= count;
    if (newline != std::string::npos) {
      end += newline + 1;
      break;
    }
  }
  if (end == size_) return;
  undo_to_ = end;
  undo_half_write();
}

void CombinedLog::append(std::string_view& lines) {
  if (lines.empty()) return;
  REEVE_ASSERT(lines.ends_with('\n'));
  follow_path();
  undo_half_write();
  while (!lines.empty()) {
    const std::uint64_t limit = settings_.rotate_size.bytes;
    const std::size_t room = size_ < limit ? static_cast<std::size_t>(std::min(limit - size_, lines.size())) : 0;
    // After the last line that fits.
    std::size_t count = room > 0 ? lines.rfind('\n', room - 1) + 1 : 0;
    if (count == 0 && size_ > 0) {
      rotate();
      continue;
    }
    if (count == 0) count = lines.find('\n') + 1;
    write(lines.substr(0, count));
    lines.remove_prefix(count);
  }
}

// Writes everything or, if it throws, nothing.
void CombinedLog::write(std::string_view lines) {
  std::size_t written = 0;
  while (written < lines.size()) {
    const ssize_t count = ::write(file_.get(), lines.data() + written, lines.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      if (written > 0) {
        undo_to_ = size_;
        // If this fails, it is retried before the next write; the first error is the one reported.
        if (::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0) undo_to_.reset();
      }
      fail("cannot write", error);
    }
    written += static_cast<std::size_t>(count);
  }
  size_ += lines.size();
}

// LOG-2: detects an external rename or deletion (logrotate). Also updates the size, because the file may have been
// truncated in place.
void CombinedLog::follow_path() {
  struct stat status{};
  const bool is_there = file_ && ::stat(path_.c_str(), &status) == 0;
  if (!is_there || status.st_dev != device_ || status.st_ino != inode_) {
    // A partial write is undone in the old file, which is still open here.
    undo_half_write();
    open();
  } else {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

void CombinedLog::undo_half_write() {
  if (!undo_to_) return;
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) fail("cannot write", errno);
  // The file may have been truncated meanwhile; ftruncate must never extend it.
  size_ = std::min(static_cast<std::uint64_t>(status.st_size), *undo_to_);
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) fail("cannot write", errno);
  undo_to_.reset();
}

// Each file moves up one number, as far as the first free number, so that after a rotation interrupted by a crash no
// file is lost to a gap. The rename over the oldest file deletes it.
void CombinedLog::rotate() {
  const std::int64_t keep = settings_.rotate_keep;
  std::int64_t last = 1;
  while (last < keep && ::access(rotated(last).c_str(), F_OK) == 0) ++last;
  for (std::int64_t number = last; number > 1; --number) {
    if (::rename(rotated(number - 1).c_str(), rotated(number).c_str()) != 0) fail("cannot rotate", errno);
  }
  const int result = keep > 0 ? ::rename(path_.c_str(), rotated(1).c_str()) : ::unlink(path_.c_str());
  if (result != 0) fail("cannot rotate", errno);
  open();
}

std::string CombinedLog::read_tail(std::size_t bytes) const {
  std::vector<std::string> parts;
  for (std::int64_t number = 0; number <= settings_.rotate_keep && bytes > 0; ++number) {
    const os::Fd previous(number > 0 ? ::open(rotated(number).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                                     : -1);
    if (number > 0 && !previous) break;
    const int fd = number > 0 ? previous.get() : file_.get();
    auto lines = read_last_lines(fd, bytes);
    if (!lines && number == 0) fail("cannot read", errno);
    if (!lines) break;
    parts.push_back(*std::move(lines));
    struct stat status{};
    if (::fstat(fd, &status) != 0 || static_cast<std::uint64_t>(status.st_size) >= std::uint64_t{bytes}) break;
    bytes -= static_cast<std::size_t>(status.st_size);
  }
  std::string tail;
  for (const std::string& part : std::views::reverse(parts)) tail += part;
  return tail;
}

fs::path CombinedLog::rotated(std::int64_t number) const { return fmt::format("{}.{}", path_.string(), number); }

void CombinedLog::fail(std::string_view doing, int error) const {
  base::throw_errno(base::ErrorCode::log_unwritable, fmt::format("{} {}", doing, base::quoted(path_.string())), error,
                    error == ENOSPC ? "free some space on the disk" : "");
}

}  // namespace reeve::runtime
