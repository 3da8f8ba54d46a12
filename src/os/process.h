#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

namespace reeve::os {

// How a process ended: with a code, or by a signal.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// A process for good, within one boot: a pid alone is given to another when its owner is gone.
struct ProcessId {
  pid_t pid = 0;
  // Clock ticks after the boot, from /proc/PID/stat.
  std::uint64_t started = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// Nothing when there is no such process. A zombie is one: it has not been waited for.
std::optional<ProcessId> identify(pid_t pid);
// Of the kernel that runs now.
std::string boot_id();

// A child of this process. Held by a descriptor, so that a signal never reaches a stranger; whoever destroys this
// without having waited leaves a zombie for the next wait.
class Process {
 public:
  // Takes over a child that nobody has waited for.
  explicit Process(pid_t child);

  pid_t pid() const noexcept { return pid_; }
  // Becomes readable when the process has ended.
  int fd() const noexcept { return pidfd_.get(); }
  // False when it has ended.
  bool signal(int number) noexcept;
  // Nothing while it runs. Its status once, then the same again.
  std::optional<ExitStatus> try_wait();
  ExitStatus wait();

 private:
  std::optional<ExitStatus> wait_with(int options);

  pid_t pid_;
  Fd pidfd_;
  std::optional<ExitStatus> status_;
};

}  // namespace reeve::os
