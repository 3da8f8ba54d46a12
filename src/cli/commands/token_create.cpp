#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/advice.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/scope.h"
#include "client/health.h"
#include "client/projects.h"
#include "client/tokens.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

std::vector<std::string> scopes_of(const Call& call) {
  std::vector<std::string> scopes;
  for (const std::string& value : call.arguments.values("--scope")) {
    for (const std::string_view word : base::split(value, ',')) {
      if (!base::find_enum<model::Scope>(word)) {
        throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a scope", base::quoted(word)),
                          "one or more of: read, operate, approve, admin");
      }
      scopes.emplace_back(word);
    }
  }
  return scopes;
}

// A token is useless without a port.
void print_port(client::Daemon& daemon) {
  const client::PortHealth port = client::get_port_health(daemon);
  if (!port.problem.empty()) return print_port_problem(daemon);
  if (port.url) return print_aside("The daemon listens at {}.\n", base::visible(*port.url));
  print_aside("The daemon has no port yet: reeve serve --http 127.0.0.1:7433 opens one.\n");
}

ExitCode run(const Call& call) {
  client::NewToken request{.name = call.arguments.positional(0), .scopes = scopes_of(call)};
  request.expires_in = call.arguments.value("--expires");
  if (request.expires_in && !base::parse_duration(*request.expires_in)) {
    throw base::Error(ErrorCode::cli_usage,
                      fmt::format("{} is not a valid value for `--expires`", base::quoted(*request.expires_in)),
                      std::string(base::duration_forms));
  }
  client::Daemon daemon(daemon_place(call));
  if (const auto project = call.arguments.value("--project")) {
    request.project = pick_project(*project, client::list_projects(daemon));
  }
  const client::MadeToken made = client::create_token(daemon, request);
  if (call.is_json) {
    print_json(call, made.record.wire);
    return ExitCode::done;
  }
  fmt::print("{}\n", made.secret);
  print_aside("It gives access to {}.\n", made.record.token.project
                                              ? "the project " + base::visible(*made.record.token.project)
                                              : std::string("all projects"));
  print_port(daemon);
  print_aside("This token is shown only once: keep it where only its user can read it.\n");
  return ExitCode::done;
}

}  // namespace

Command make_token_create() {
  return {
      .name = "token create",
      .summary = "Create a token for another program or person",
      .about =
          R"(The token gives access to the daemon's port (`reeve serve --http`, `reeve web`) within its scopes:
`read` to view; `operate` to start, cancel, send input and apply patches; `approve` to decide; `admin`
to do everything, including creating tokens. Every scope includes `read`. Actions are recorded under the
token's name, including in the audit log, so names are never reused.

`--project` limits the token to the runs, executions, approvals and patches of one project. Such a token
cannot have the scope `admin`, and sees neither the config nor the events of other projects.

The secret is printed once; only its hash is stored.

Exit codes: 0 created, 4 the name is already taken.)",
      .examples = {{"reeve token create ci --scope operate --expires 90d", "for a program that starts runs"},
                   {"reeve token create anna --scope approve > anna.token", "for a person who decides"}},
      .positionals = {{.name = "NAME", .help = "name of its user: letters, digits and . _ @ -"}},
      .options = {{.name = "--scope",
                   .value = "SCOPES",
                   .help = "read (the default), operate, approve, admin; separated by commas",
                   .is_repeatable = true},
                  {.name = "--project", .value = "NAME", .help = "only this project, by name or path"},
                  {.name = "--expires", .value = "TIME", .help = "lifetime: 12h, 90d (default: until revoked)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
