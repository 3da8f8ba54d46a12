#include <sys/ioctl.h>

#include "os/terminal.h"

// Apart from the rest, because the keeper uses it.
namespace reeve::os {

namespace {

std::optional<winsize> size_of(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size;
}

}  // namespace

std::optional<std::size_t> terminal_columns(int fd) noexcept {
  const auto size = size_of(fd);
  return size ? std::optional<std::size_t>(size->ws_col) : std::nullopt;
}

std::optional<TerminalSize> terminal_size(int fd) noexcept {
  const auto size = size_of(fd);
  if (!size || size->ws_row == 0) return std::nullopt;
  return TerminalSize{.rows = size->ws_row, .columns = size->ws_col};
}

}  // namespace reeve::os
