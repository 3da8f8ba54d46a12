#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/stop_daemon.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const client::DaemonPlace place = daemon_place(call);
  const bool was_running = stop_daemon(place);
  if (call.is_json) {
    base::Value record = base::Value::object();
    record.set("state", place.host ? base::Value() : base::Value::string(place.folder.string()));
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
