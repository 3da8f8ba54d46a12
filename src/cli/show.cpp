#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/runs.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

std::string next_for(const model::Run& run) {
  const std::string id = run.tool_run_id.text();
  return model::is_final(run.status) ? "reeve logs " + id : "reeve logs -f " + id;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const auto record = client::get_run(daemon, find_run(daemon, call.arguments.positional(0)));
  if (call.is_json) {
    print_json(call, record.wire);
  } else if (!call.out_is_terminal) {
    fmt::print("{}", view::run_details(record.run, call.out, {}));
  } else {
    fmt::print("{}\n", view::run_details(record.run, call.out, base::SystemClock().wall_now()));
    print_next(call, next_for(record.run));
  }
  return ExitCode::done;
}

}  // namespace

Command make_show() {
  return {
      .name = "show",
      .summary = "Everything about one run",
      .about = R"(In a pipe a line has a field's name and its value, separated by a tab; fields that do not apply are
left out. With `--json` the record as the API has it.

Exit codes: 0 done, 3 no such run.)",
      .examples = {{"reeve show TR-17", ""}, {"reeve show @last --json", "the newest run, for a script"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
