#pragma once

#include <cstddef>
#include <optional>

namespace reeve::os {

bool is_terminal(int fd) noexcept;
// How wide the terminal behind this descriptor is, if it is one and knows.
std::optional<std::size_t> terminal_columns(int fd) noexcept;

struct TerminalSize {
  int rows = 24;
  int columns = 80;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
// Of the terminal behind this descriptor, if it is one and knows.
std::optional<TerminalSize> terminal_size(int fd) noexcept;

// Keys come as they are pressed, nothing is echoed and nothing acted on, until this is gone. The terminal gets back
// what it had whatever happens: when this is destroyed, at exit(), and when a signal ends the process (only SIGKILL
// cannot be helped). One at a time in a process.
class RawTerminal {
 public:
  // Throws `os.failed` when there is no terminal behind the descriptor, which must stay open as long.
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Whether one is in force: then a line needs its own carriage return.
  static bool is_active() noexcept;
  // For those who leave by _exit(); also within a signal handler.
  static void restore() noexcept;
};

}  // namespace reeve::os
