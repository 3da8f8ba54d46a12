#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

// What threads of other processes are blocked on, according to /proc. Requires an ancestor with the same user, or root;
// the kernel hides other processes.
namespace reeve::os {

// Identifies a terminal: its device file, and /dev/tty for processes whose controlling terminal it is.
struct TerminalDevice {
  // The devpts instance: several of them may have a terminal with the same number.
  dev_t place = 0;
  dev_t number = 0;
};
// Nullopt if the descriptor is not a terminal.
std::optional<TerminalDevice> terminal_device(int fd) noexcept;

enum class TerminalWait : std::uint8_t {
  // Running, or blocked on something else.
  none,
  // Blocked in a read of the terminal.
  reads,
  // Blocked in poll, select or epoll, with the terminal in the read set.
  watches,
  // Sleeping, and the kernel does not show in which call.
  hidden,
};

struct WaitingThread {
  pid_t process = 0;
  pid_t thread = 0;
  TerminalWait wait = TerminalWait::none;
  // Number of voluntary context switches: if it is unchanged, so is the sleep.
  std::uint64_t sleeps = 0;
};

// The threads below `root` that wait for this terminal or are hidden. `foreground` is the terminal's foreground group;
// background jobs of its session are skipped: a read there stops the job, and typed input goes to another process.
std::vector<WaitingThread> find_terminal_waits(pid_t root, const TerminalDevice& terminal, pid_t foreground);

}  // namespace reeve::os
