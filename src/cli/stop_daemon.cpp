#include "cli/stop_daemon.h"

#include <poll.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "os/lock.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

// What is being answered is finished first.
constexpr auto patience = std::chrono::seconds(15);

// Somebody who follows a run starts the next daemon as soon as this one is gone: that one was not meant.
void wait_until_gone(const client::DaemonPlace& place, const std::optional<std::string>& meant) {
  const base::SystemClock clock;
  const base::BootTime deadline = clock.boot_now() + patience;
  while (meant && find_holder(place) == meant) {
    if (clock.boot_now() > deadline) {
      throw base::Error("daemon.busy",
                        fmt::format("the daemon of {} has not stopped yet", base::quoted(place.folder.string())),
                        "try again; `reeve doctor` names its process");
    }
    static_cast<void>(::poll(nullptr, 0, 20));
  }
}

void ask_to_stop(client::Daemon& daemon) {
  try {
    daemon.post("/api/daemon/stop", base::Value::object());
  } catch (const base::Error& error) {
    // It went before it had answered, which is what was asked for.
    if (error.code() != "daemon.unavailable") throw;
  }
}

}  // namespace

std::optional<std::string> find_holder(const client::DaemonPlace& place) {
  const project::StateFolder folder{place.folder};
  if (os::FileLock::query(folder.lock().string()) == os::FileLock::State::free) return std::nullopt;
  return os::read_file(folder.lock(), 32);
}

bool stop_daemon(client::DaemonPlace place) {
  place.no_start = "none is started to be stopped";
  client::Daemon daemon(place);
  const auto meant = find_holder(place);
  if (!daemon.is_running()) return false;
  ask_to_stop(daemon);
  wait_until_gone(place, meant);
  return true;
}

}  // namespace reeve::cli
