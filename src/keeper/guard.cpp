#include "keeper/guard.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper/run_keeper.h"
#include "os/pseudo_file.h"
#include "os/spawn.h"
#include "os/tree.h"

namespace reeve::keeper {

namespace {

constexpr int first_pause_ms = 100;
constexpr int longest_pause_ms = 30'000;
// A daemon that ran this long had started properly: the next pause is short again.
constexpr std::int64_t good_life_ms = 60'000;

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000LL + now.tv_nsec / 1'000'000;
}

}  // namespace

int guard_daemon(const char* lock, const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  os::become_subreaper();
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  const os::Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC));
  int pause_ms = first_pause_ms;
  bool is_leaving = false;
  bool is_first = true;
  std::vector<std::uint64_t> started;
  os::SpawnPlan plan{.argv = argv, .environment = environment};
  plan.output = STDOUT_FILENO;
  plan.error = STDERR_FILENO;
  while (true) {
    const std::int64_t began = now_ms();
    auto daemon = os::spawn(plan);
    if (!daemon) return daemon_cannot_begin;
    started.push_back(static_cast<std::uint64_t>(daemon->pid()));
    // The process that started this one waits for these descriptors to close.
    const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(null.get(), STDOUT_FILENO);
    ::dup2(null.get(), STDERR_FILENO);
    plan.output = plan.error = -1;
    std::optional<os::ExitStatus> status;
    while (!(status = daemon->try_wait())) {
      signalfd_siginfo info{};
      if (::read(signals.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) continue;
      if (info.ssi_signo != SIGCHLD) {
        is_leaving = true;
        daemon->signal(SIGTERM);
      }
      os::collect_children(daemon->pid());
    }
    // A daemon that has started before may succeed later, once a full disk or an invalid file has been fixed.
    const bool cannot_begin = status->code == daemon_cannot_begin && is_first;
    const bool is_done = status->code == 0 || status->code == daemon_refused || cannot_begin || is_leaving;
    if (is_done) return status->code.value_or(1);
    is_first = false;
    pause_ms = now_ms() - began >= good_life_ms ? first_pause_ms : std::min(pause_ms * 2, longest_pause_ms);
    const std::int64_t until = now_ms() + pause_ms;
    for (std::int64_t left = pause_ms; left > 0 && !is_leaving; left = until - now_ms()) {
      pollfd wait{signals.get(), POLLIN, 0};
      signalfd_siginfo info{};
      const bool is_told = ::poll(&wait, 1, static_cast<int>(left)) > 0 &&
                           ::read(signals.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
      if (is_told && info.ssi_signo != SIGCHLD) is_leaving = true;
      os::collect_children(0);
    }
    const std::uint64_t holder = os::parse_unsigned(os::read_pseudo_file(lock, 32));
    const bool is_replaced = holder != 0 && std::find(started.begin(), started.end(), holder) == started.end();
    if (is_leaving || is_replaced) return 0;
  }
}

}  // namespace reeve::keeper
