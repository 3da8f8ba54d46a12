#include "os/process.h"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

using base::ErrorCode;

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = read_process_stat(pid);
  return stat ? std::optional(stat->id) : std::nullopt;
}

std::string boot_id() {
  std::string id = read_pseudo_file("/proc/sys/kernel/random/boot_id");
  while (id.ends_with('\n')) id.pop_back();
  if (id.empty()) base::throw_errno(ErrorCode::os_failed, "cannot read the kernel's boot id", ENOENT, "mount /proc");
  return id;
}

Process::Process(pid_t child) : pid_(child) {
  // The child has not been waited for, so the pid cannot have been reused.
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd_) {
    base::throw_errno(ErrorCode::os_failed, "cannot open a pidfd for process " + std::to_string(child), errno);
  }
}

bool Process::signal(int number) noexcept {
  return !status_ && ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0;
}

std::optional<ExitStatus> Process::try_wait() { return wait_with(WNOHANG); }

ExitStatus Process::wait() { return *wait_with(0); }

std::optional<ExitStatus> Process::wait_with(int options) {
  if (status_) return status_;
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED | options) != 0) {
    if (errno != EINTR) {
      base::throw_errno(ErrorCode::os_failed, "cannot wait for process " + std::to_string(pid_), errno);
    }
  }
  if (info.si_pid == 0) return std::nullopt;
  status_.emplace();
  if (info.si_code == CLD_EXITED) {
    status_->code = info.si_status;
  } else {
    status_->signal = info.si_status;
  }
  return status_;
}

}  // namespace reeve::os
