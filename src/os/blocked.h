#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

// What threads of other processes wait for, seen from outside in /proc. For an ancestor of the same user, or root;
// of anybody else the kernel says nothing.
namespace reeve::os {

// The devices by which a terminal is known: the file itself, and /dev/tty for those whose controlling terminal it is.
struct TerminalDevice {
  // The file system it is in: there are several with a terminal of the same number.
  dev_t place = 0;
  dev_t number = 0;
};
// Nothing when the descriptor is no terminal.
std::optional<TerminalDevice> terminal_device(int fd) noexcept;

enum class TerminalWait : std::uint8_t {
  // It runs, or waits for something else.
  none,
  // It sits in a read of the terminal.
  reads,
  // It sits in poll, select or epoll, and the terminal is among what it would read from.
  watches,
  // It sleeps, and the kernel does not say in what.
  hidden,
};

struct WaitingThread {
  pid_t process = 0;
  pid_t thread = 0;
  TerminalWait wait = TerminalWait::none;
  // How often it has gone to sleep so far: the same number is the same sleep.
  std::uint64_t sleeps = 0;
};

// The threads below `root` that wait at this terminal or are hidden. `foreground` is the terminal's foreground group;
// background jobs of its session are passed over: who reads there is stopped, and typing reaches somebody else.
std::vector<WaitingThread> find_terminal_waits(pid_t root, const TerminalDevice& terminal, pid_t foreground);

}  // namespace reeve::os
