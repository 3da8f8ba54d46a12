#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

namespace reeve::os {

// How a process ended: with an exit code, or by a signal.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// Identifies a process uniquely within one boot: a pid alone is reused after its process ends.
struct ProcessId {
  pid_t pid = 0;
  // Clock ticks after the boot, from /proc/PID/stat.
  std::uint64_t started = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// Nullopt if there is no such process. A zombie still counts: it has not been waited for.
std::optional<ProcessId> identify(pid_t pid);
// The boot id of the running kernel.
std::string boot_id();

// A child of this process, referenced by a pidfd, so that a signal never reaches another process. Destroying it without
// waiting leaves a zombie.
class Process {
 public:
  // Takes ownership of a child that has not been waited for.
  explicit Process(pid_t child);

  pid_t pid() const noexcept { return pid_; }
  // Becomes readable when the process has ended.
  int fd() const noexcept { return pidfd_.get(); }
  // False if it has ended.
  bool signal(int number) noexcept;
  // Nullopt while it is running. May be called again after it has ended.
  std::optional<ExitStatus> try_wait();
  ExitStatus wait();

 private:
  std::optional<ExitStatus> wait_with(int options);

  pid_t pid_;
  Fd pidfd_;
  std::optional<ExitStatus> status_;
};

}  // namespace reeve::os
