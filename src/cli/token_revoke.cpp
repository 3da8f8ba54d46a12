#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/tokens.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const client::TokenRecord record = client::revoke_token(daemon, call.arguments.positional(0));
  if (call.is_json) {
    print_json(call, record.wire);
  } else {
    fmt::print("{} is revoked\n", record.token.name);
  }
  return ExitCode::done;
}

}  // namespace

Command make_token_revoke() {
  return {
      .name = "token revoke",
      .summary = "Let a token count no more",
      .about =
          R"(At once, and with it end the streams, terminals and browsers that it let in; other daemons of the same store
follow within a second or two. What runs because of it goes on. Its name stays taken, since it stands beside
what was done with it. The daemon's own token is replaced by `reeve token rotate`.

Exit codes: 0 it counts no more, 3 no such token.)",
      .examples = {{"reeve token revoke ci", ""}},
      .positionals = {{.name = "NAME", .help = "as `reeve token list` shows it"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
