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
          R"(The daemon's own token lies in `http.token` of its state folder, for programs of the same user. It has no name
that could be revoked: here another takes its place in the file, and the one before lets nobody in any
more. What is open by it ends within moments: streams, terminals, browsers that its links let in.

With `--json` the file that has it.

Exit codes: 0 the file has another.)",
      .examples = {{"reeve token rotate", "after somebody else may have read the file"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
