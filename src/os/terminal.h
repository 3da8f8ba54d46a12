#pragma once

#include <cstddef>
#include <optional>

namespace reeve::os {

bool is_terminal(int fd) noexcept;
// Width of the terminal behind this descriptor, if it is a terminal and reports one.
std::optional<std::size_t> terminal_columns(int fd) noexcept;

struct TerminalSize {
  int rows = 24;
  int columns = 80;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};
// Size of the terminal behind this descriptor, if it is a terminal and reports one.
std::optional<TerminalSize> terminal_size(int fd) noexcept;

// Raw mode for as long as this object lives: keys are delivered as pressed, without echo or special handling. The
// previous settings are restored in any case: when this is destroyed, at exit(), and when a signal ends the process
// (except SIGKILL). Only one may exist per process.
class RawTerminal {
 public:
  // Throws `os.failed` if the descriptor is not a terminal. The descriptor must stay open for the object's lifetime.
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Whether raw mode is on: then a line needs an explicit carriage return.
  static bool is_active() noexcept;
  // For callers of _exit(); async-signal-safe.
  static void restore() noexcept;
};

}  // namespace reeve::os
