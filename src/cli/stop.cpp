#include <optional>
#include <poll.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "os/file.h"
#include "os/lock.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

// What is being answered is finished first.
constexpr auto patience = std::chrono::seconds(15);

// Who has the folder; nothing when nobody has: then the next one can begin, which a socket that is away does not tell.
std::optional<std::string> find_holder(const client::DaemonPlace& place) {
  const project::StateFolder folder{place.folder};
  if (os::FileLock::query(folder.lock().string()) == os::FileLock::State::free) return std::nullopt;
  return os::read_file(folder.lock(), 32);
}

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

ExitCode run(const Call& call) {
  client::DaemonPlace place = daemon_place(call);
  place.no_start = "none is started to be stopped";
  client::Daemon daemon(place);
  const auto meant = find_holder(place);
  const bool was_running = daemon.is_running();
  if (was_running) {
    ask_to_stop(daemon);
    wait_until_gone(place, meant);
  }
  if (call.is_json) {
    base::Value record = base::Value::object();
    record.set("state", base::Value::string(place.folder.string()));
    record.set("was_running", base::Value::boolean(was_running));
    print_json(call, record);
  } else {
    fmt::print("{}\n", was_running ? "stopped; what runs goes on without it" : "no daemon runs here");
  }
  return ExitCode::done;
}

}  // namespace

Command make_stop() {
  return {
      .name = "stop",
      .summary = "Stop the daemon",
      .about = R"(Runs go on without it, each held by its keeper; the next daemon takes them over where this one left.
Until then nobody watches over time limits and stalls, and nothing new begins. Any command that needs
a daemon starts one.

Exit codes: 0 none runs any more.)",
      .examples = {{"reeve stop", ""}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
