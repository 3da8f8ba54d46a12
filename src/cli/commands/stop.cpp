#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"

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
    fmt::print("{}\n", was_running ? "Stopped. Running tools keep running and their timeouts still apply; stalls and "
                                     "questions are handled again when a daemon starts."
                                   : "no daemon is running here");
  }
  return ExitCode::done;
}

}  // namespace

Command make_stop() {
  return {
      .name = "stop",
      .summary = "Stop the daemon",
      .about =
          R"(Runs continue without it, each under its keeper, and the next daemon takes them over where this one
stopped. Until then, keepers enforce the hard timeouts; stalls and questions wait, and nothing new starts.
Any command that needs a daemon starts one.

Exit codes: 0 no daemon is running.)",
      .examples = {{"reeve stop", ""}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
