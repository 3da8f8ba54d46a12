#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/tokens.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const client::DaemonPlace place = daemon_place(call);
  if (is_elsewhere(place)) {
    throw base::Error(base::ErrorCode::cli_usage, "the link would point to this machine, but the daemon is on another",
                      "run it there, or reach its port through a tunnel (ssh -L)");
  }
  client::Daemon daemon(place);
  const client::SignInLink link = client::make_sign_in_link(daemon);
  if (call.is_json) {
    print_json(call, link.wire);
    return ExitCode::done;
  }
  fmt::print("{}\n", link.url);
  print_aside("The link works once, within 5 minutes. Anyone who opens it can do everything in your name.\n");
  return ExitCode::done;
}

}  // namespace

Command make_web() {
  return {
      .name = "web",
      .summary = "Print a one-time sign-in link",
      .about =
          R"(Opens a loopback port on the daemon, if it has none, and prints a link that works once, within 5
minutes. The browser that opens it stays signed in for at most a week, or until the daemon stops.

Exit codes: 0 done, 6 no daemon could be started.)",
      .examples = {{"reeve web", ""}, {"xdg-open $(reeve web)", "and open it"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
