#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/tokens.h"

namespace reeve::cli {

namespace {

std::vector<std::string> scopes_of(const Call& call) {
  std::vector<std::string> scopes;
  for (const std::string& value : call.arguments.values("--scope")) {
    for (const std::string_view word : base::split(value, ',')) {
      if (!base::find_enum<model::Scope>(word)) {
        throw base::Error("cli.usage", fmt::format("{} is no scope", base::quoted(word)),
                          "one or more of: read, operate, approve, admin");
      }
      scopes.emplace_back(word);
    }
  }
  return scopes;
}

ExitCode run(const Call& call) {
  client::NewToken wish{.name = call.arguments.positional(0), .scopes = scopes_of(call)};
  wish.expires_in = call.arguments.value("--expires");
  if (wish.expires_in && !base::parse_duration(*wish.expires_in)) {
    throw base::Error("cli.usage", fmt::format("{} is not a value for `--expires`", base::quoted(*wish.expires_in)),
                      std::string(base::duration_forms));
  }
  client::Daemon daemon(daemon_place(call));
  const client::MadeToken made = client::create_token(daemon, wish);
  if (call.is_json) {
    print_json(call, made.record.wire);
    return ExitCode::done;
  }
  fmt::print("{}\n", made.secret);
  print_aside("This is shown once: keep it where only its user can read it.\n");
  return ExitCode::done;
}

}  // namespace

Command make_token_create() {
  return {
      .name = "token create",
      .summary = "Make a token for another program or person",
      .about =
          R"(Whoever shows it at the daemon's port (`reeve serve --http`, `reeve web`) may do what its scopes say: `read`
looks; `operate` starts, cancels, types and applies; `approve` decides; `admin` does everything, also
make tokens. Each of them includes `read`. What is done with it is done in its name, also in the audit
trail; so a name is given once and never again.

The secret is printed once and stored as a hash alone.

Exit codes: 0 made, 4 there is one of that name.)",
      .examples = {{"reeve token create ci --scope operate --expires 90d", "for a program that starts runs"},
                   {"reeve token create anna --scope approve > anna.token", "for a person who decides"}},
      .positionals = {{.name = "NAME", .help = "whose it is: letters, digits and . _ @ -"}},
      .options = {{.name = "--scope",
                   .value = "SCOPES",
                   .help = "read (if none is named), operate, approve, admin; separated by commas",
                   .is_repeatable = true},
                  {.name = "--expires", .value = "TIME", .help = "how long it counts: 12h, 90d (else until revoked)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
