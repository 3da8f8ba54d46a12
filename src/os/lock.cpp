#include "os/lock.h"

#include <cerrno>
#include <fcntl.h>

#include "base/error.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

struct flock whole_file() noexcept {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

}  // namespace

std::optional<FileLock> FileLock::try_take(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) base::throw_errno(ErrorCode::os_failed, "cannot create the lock file '" + path + "'", errno);
  struct flock range = whole_file();
  if (::fcntl(file.get(), F_OFD_SETLK, &range) == 0) return FileLock(std::move(file));
  if (errno != EAGAIN && errno != EACCES) base::throw_errno(ErrorCode::os_failed, "cannot lock '" + path + "'", errno);
  return std::nullopt;
}

FileLock::State FileLock::query(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT) return State::free;
    base::throw_errno(ErrorCode::os_failed, "cannot open the lock file '" + path + "'", errno);
  }
  struct flock range = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &range) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot query a lock", errno);
  }
  return range.l_type == F_UNLCK ? State::free : State::held;
}

}  // namespace reeve::os
