#include "os/write.h"

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace reeve::os {

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count == 0) {
      errno = ENOSPC;
      return false;
    } else if (errno == EAGAIN) {
      // Another process may have made a shared terminal non-blocking.
      pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
      static_cast<void>(::poll(&wanted, 1, -1));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace reeve::os
