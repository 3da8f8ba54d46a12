#include "os/terminal.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

// Global, for the signal handler. Written before `raw_fd`, read after it.
termios saved{};
std::atomic<int> raw_fd = -1;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array deadly = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGSEGV,
                               SIGBUS, SIGFPE, SIGILL,  SIGPIPE, SIGXCPU, SIGXFSZ};

extern "C" void restore_and_die(int number) {
  const int error = errno;
  RawTerminal::restore();
  // SA_RESETHAND removed the handler; now the signal takes its default action.
  ::raise(number);
  errno = error;
}

extern "C" void restore_at_exit() { RawTerminal::restore(); }

// Signals that other code handles, or that are ignored, are left alone.
void swap_handlers(void (*from)(int), void (*to)(int)) noexcept {
  for (const int number : deadly) {
    struct sigaction present{};
    if (::sigaction(number, nullptr, &present) != 0 || present.sa_handler != from) continue;
    struct sigaction wanted{};
    wanted.sa_handler = to;
    wanted.sa_flags = to == SIG_DFL ? 0 : static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(number, &wanted, nullptr);
  }
}

}  // namespace

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

RawTerminal::RawTerminal(int fd) {
  REEVE_ASSERT(!is_active());
  if (::tcgetattr(fd, &saved) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot read the terminal's settings", errno);
  }
  static const bool is_registered = std::atexit(restore_at_exit) == 0;
  static_cast<void>(is_registered);
  raw_fd = fd;
  swap_handlers(SIG_DFL, restore_and_die);
  termios raw = saved;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSANOW, &raw) != 0) {
    const int error = errno;
    restore();
    swap_handlers(restore_and_die, SIG_DFL);
    base::throw_errno(ErrorCode::os_failed, "cannot change the terminal's settings", error);
  }
}

RawTerminal::~RawTerminal() {
  restore();
  swap_handlers(restore_and_die, SIG_DFL);
}

bool RawTerminal::is_active() noexcept { return raw_fd.load() >= 0; }

void RawTerminal::restore() noexcept {
  const int fd = raw_fd.exchange(-1);
  // TCSANOW: draining pending output might never finish (Ctrl-S).
  if (fd >= 0) ::tcsetattr(fd, TCSANOW, &saved);
}

}  // namespace reeve::os
