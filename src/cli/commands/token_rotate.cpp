#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/tokens.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const client::RenewedToken renewed = client::renew_own_token(daemon);
  if (call.is_json) {
    print_json(call, renewed.wire);
  } else {
    fmt::print("{} has a new token\n", base::visible(renewed.file));
  }
  return ExitCode::done;
}

}  // namespace

Command make_token_rotate() {
  return {
      .name = "token rotate",
      .summary = "Replace the daemon's own token",
      .about =
          R"(The daemon's own token is in `http.token` in its state folder, for programs of the same user. It has no
name and cannot be revoked; this command replaces it in the file and invalidates the old one. Streams,
terminals and browser sessions that the old one opened are closed within moments.

With `--json`, prints the path of the file.

Exit codes: 0 replaced.)",
      .examples = {{"reeve token rotate", "if someone else may have read the file"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
