#include "os/signals.h"

#include <cerrno>
#include <sys/signalfd.h>

#include "base/error.h"

namespace reeve::os {

SignalInbox::SignalInbox(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : signals) {
    struct sigaction present{};
    if (::sigaction(number, nullptr, &present) == 0 && present.sa_handler != SIG_IGN) ::sigaddset(&set, number);
  }
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) base::throw_errno(base::ErrorCode::os_failed, "cannot watch for signals", errno);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalInbox::~SignalInbox() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> SignalInbox::take() noexcept {
  signalfd_siginfo info{};
  const ssize_t got = ::read(fd_.get(), &info, sizeof info);
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace reeve::os
