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
    throw base::Error("cli.usage", "the link would lead to this machine, and the daemon is on another",
                      "call it there, or reach its port through a tunnel (ssh -L)");
  }
  client::Daemon daemon(place);
  const client::SignInLink link = client::make_sign_in_link(daemon);
  if (call.is_json) {
    print_json(call, link.wire);
    return ExitCode::done;
  }
  fmt::print("{}\n", link.url);
  print_aside("The link works once, for 5 minutes. Who follows it may do everything in your name.\n");
  return ExitCode::done;
}

}  // namespace

Command make_web() {
  return {
      .name = "web",
      .summary = "A link that lets your browser in",
      .about =
          R"(Opens a loopback port of the daemon, if it has none, and prints a link that works once within 5 minutes. The
browser that follows it is signed in, for at most a week and until the daemon ends.

Exit codes: 0 done, 6 no daemon could be started.)",
      .examples = {{"reeve web", ""}, {"xdg-open $(reeve web)", "and open it"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
