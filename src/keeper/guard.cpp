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

#include "keeper/holder.h"
#include "os/spawn.h"
#include "os/tree.h"

namespace reeve::keeper {

namespace {

constexpr int first_pause_ms = 100;
constexpr int longest_pause_ms = 30'000;
// One that lived so long had begun well: the next pause is short again.
constexpr time_t good_life_s = 60;

time_t now_s() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

}  // namespace

int guard_daemon(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  os::become_subreaper();
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  const os::Fd signals(::signalfd(-1, &watched, SFD_CLOEXEC));
  int pause_ms = first_pause_ms;
  bool is_leaving = false;
  os::SpawnPlan plan{.argv = argv, .environment = environment};
  plan.output = STDOUT_FILENO;
  plan.error = STDERR_FILENO;
  while (true) {
    const time_t began = now_s();
    auto daemon = os::spawn(plan);
    if (!daemon) return daemon_cannot_begin;
    // Whoever started this waits for the end of these.
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
    const bool is_done =
        status->code == 0 || status->code == daemon_refused || status->code == daemon_cannot_begin || is_leaving;
    if (is_done) return status->code.value_or(1);
    pause_ms = now_s() - began >= good_life_s ? first_pause_ms : std::min(pause_ms * 2, longest_pause_ms);
    pollfd wait{signals.get(), POLLIN, 0};
    // A signal to leave cuts the pause short; a child that ended meanwhile only shortens it.
    ::poll(&wait, 1, pause_ms);
    os::collect_children(0);
  }
}

}  // namespace reeve::keeper
