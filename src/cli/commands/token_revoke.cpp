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
      .summary = "Revoke a token",
      .about =
          R"(Takes effect at once and closes the streams, terminals and browser sessions that the token opened; other
daemons on the same store follow within a second or two. Runs that were started with it continue. Its name
cannot be reused, because the records of its actions refer to it. To replace the daemon's own token, use
`reeve token rotate`.

Exit codes: 0 revoked, 3 no such token.)",
      .examples = {{"reeve token revoke ci", ""}},
      .positionals = {{.name = "NAME", .help = "as `reeve token list` shows it"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
