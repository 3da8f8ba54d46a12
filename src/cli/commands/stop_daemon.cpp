#include "cli/commands/stop_daemon.h"

#include <poll.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/process_stat.h"
#include "project/daemon_holder.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

// The daemon finishes pending requests first.
constexpr auto timeout = std::chrono::seconds(15);

// A client that follows a run starts the next daemon as soon as this one has exited; waits only for the process meant.
void wait_until_gone(const client::DaemonPlace& place, const std::optional<std::string>& meant) {
  const base::SystemClock clock;
  const base::BootTime deadline = clock.boot_now() + timeout;
  const base::BootTime first_word = clock.boot_now() + std::chrono::seconds(2);
  while (meant && find_holder(place) == meant) {
    if (clock.boot_now() > first_word) {
      place.tell({client::Silence::Kind::working, fmt::format("the daemon (pid {}) to exit", *meant), {}});
    }
    if (clock.boot_now() > deadline) {
      throw base::Error(ErrorCode::daemon_busy,
                        fmt::format("the daemon of {} has not stopped yet", base::quoted(place.folder.string())),
                        "try again; `reeve doctor` names its process");
    }
    static_cast<void>(::poll(nullptr, 0, 20));
  }
}

// A suspended daemon cannot respond, and would exit without notice once resumed, so the user must decide.
void refuse_stopped(const client::DaemonPlace& place) {
  const int pid = client::find_daemon_pid(place);
  const auto stat = pid > 0 ? os::read_process_stat(pid) : std::nullopt;
  if (!stat || (stat->state != 'T' && stat->state != 't')) return;
  throw base::Error(ErrorCode::daemon_unavailable,
                    fmt::format("the daemon (pid {}) is suspended (by SIGSTOP or a debugger) and cannot be asked to "
                                "exit",
                                pid),
                    fmt::format("kill -CONT {0}, then reeve stop; or kill -KILL {0}: runs survive, and the next daemon "
                                "takes them over",
                                pid));
}

void ask_to_stop(client::Daemon& daemon) {
  try {
    daemon.post("/api/daemon/stop", base::Value::object());
  } catch (const base::Error& error) {
    // It exited before it responded, which is the goal.
    if (!error.is(ErrorCode::daemon_unavailable)) throw;
  }
}

// A remote folder cannot be inspected: the daemon has exited when nothing responds, or another daemon does.
bool stop_elsewhere(client::Daemon& daemon) {
  if (!daemon.is_running()) return false;
  const base::SystemClock clock;
  const base::BootTime deadline = clock.boot_now() + timeout;
  const auto begun = [](client::Daemon& one) {
    const base::Value health = one.get("/healthz");
    const base::Value* found = health.find("started_at");
    return found != nullptr ? *found : base::Value();
  };
  const base::Value before = begun(daemon);
  ask_to_stop(daemon);
  while (clock.boot_now() < deadline) {
    client::Daemon next(daemon.place());
    try {
      if (!next.is_running() || !(begun(next) == before)) return true;
    } catch (const base::Error&) {
      return true;
    }
    static_cast<void>(::poll(nullptr, 0, 20));
  }
  throw base::Error(ErrorCode::daemon_busy,
                    fmt::format("the daemon at {} has not stopped yet", daemon.place().host->url()), "try again");
}

}  // namespace

std::optional<std::string> find_holder(const client::DaemonPlace& place) {
  const project::StateFolder folder{place.folder};
  if (os::FileLock::query(folder.lock().string()) == os::FileLock::State::free) return std::nullopt;
  return os::read_file(folder.lock(), 32);
}

bool stop_daemon(client::DaemonPlace place) {
  place.no_start = "`reeve stop` does not start one";
  client::Daemon daemon(place);
  if (place.host) return stop_elsewhere(daemon);
  const auto meant = find_holder(place);
  if (meant) refuse_stopped(place);
  const project::StateFolder folder{place.folder};
  // A socket unit has taken the path of its socket: a request would reach, and start, another daemon.
  if (meant && project::is_cut_off(folder)) {
    if (const auto holder = project::find_lock_holder(folder)) project::ask_to_leave(*holder);
    wait_until_gone(place, meant);
    return true;
  }
  if (!daemon.is_running()) return false;
  ask_to_stop(daemon);
  wait_until_gone(place, meant);
  return true;
}

}  // namespace reeve::cli
