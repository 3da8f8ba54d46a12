#include "os/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace reeve::os {

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

std::optional<std::size_t> terminal_columns(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace reeve::os
