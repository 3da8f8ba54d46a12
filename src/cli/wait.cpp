#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/exit_code.h"
#include "cli/watching.h"
#include "client/runs.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

constexpr base::Milliseconds long_wait = std::chrono::seconds(30);

client::RunRecord wait_for(client::Daemon& daemon, base::RunId id) {
  while (true) {
    auto record = client::wait_run(daemon, id, client::Until::final, long_wait);
    if (model::is_final(record.run.status)) return record;
  }
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  std::vector<base::RunId> ids;
  for (const std::string& word : call.arguments.positionals()) ids.push_back(find_run(daemon, word));
  const Watching watching("stopped waiting; the runs go on, reeve cancel ID ends one");
  std::vector<model::Run> runs;
  base::Value::Array wire;
  ExitCode code = ExitCode::done;
  for (const base::RunId id : ids) {
    client::RunRecord record = wait_for(daemon, id);
    if (code == ExitCode::done) code = exit_code_of(record.run);
    runs.push_back(std::move(record.run));
    wire.push_back(std::move(record.wire));
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", view::runs_table(runs, call.out, {}).for_pipe());
  } else {
    fmt::print("{}", view::runs_table(runs, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
  }
  return code;
}

}  // namespace

Command make_wait() {
  return {
      .name = "wait",
      .summary = "Wait until runs are over",
      .about =
          R"(Also through approvals. Lists the runs when all of them are over. Ctrl-C stops waiting, the runs go on.

Exit codes: of the first run, in the order given, that did not complete, as `reeve run` would have given
it; 0 when all completed; 3 no such run.)",
      .examples = {{"reeve wait TR-17 && ./deploy.sh", "go on when it has completed"},
                   {"reeve wait TR-17 TR-18 --json", "the records when both are over"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_repeatable = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
