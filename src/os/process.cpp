#include "os/process.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::os {

std::optional<ProcessId> identify(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name is in parentheses and may hold anything, so that fields are counted from behind it: the 20th is the time.
  const std::size_t end = line.rfind(") ");
  if (end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(line).substr(end + 2);
  constexpr int fields_before = 19;
  for (int i = 0; i < fields_before; ++i) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  ProcessId id{pid, 0};
  const auto [_, error] = std::from_chars(rest.data(), rest.data() + rest.size(), id.started);
  return error == std::errc() ? std::optional(id) : std::nullopt;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!std::getline(file, id) || id.empty()) {
    throw base::Error("os.failed", "the kernel does not tell its boot id", "mount /proc");
  }
  return id;
}

Process::Process(pid_t child) : pid_(child) {
  // Not waited for yet, so that the number is still this child's.
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd_) base::throw_errno("os.failed", fmt::format("cannot hold process {}", child), errno);
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
    if (errno != EINTR) base::throw_errno("os.failed", fmt::format("cannot wait for process {}", pid_), errno);
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
