#include "cli/commands/serve.h"

#include "base/error.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

Serve& the_serve() {
  static Serve serve;
  return serve;
}

CheckStore& the_check() {
  static CheckStore check;
  return check;
}

ExitCode run(const Call& call) {
  refuse_host(call, "serve");
  if (!the_serve()) throw base::Error(base::ErrorCode::daemon_unavailable, "this program was built without the daemon");
  return static_cast<ExitCode>(the_serve()({
      .state = project::find_state_folder(call.arguments.value("--state"), ".").root,
      .store = call.arguments.value("--store"),
      .http = call.arguments.value("--http"),
      .behind_proxy = call.arguments.has("--behind-proxy"),
      .background = call.arguments.has("--background"),
  }));
}

}  // namespace

void set_serve(Serve serve) { the_serve() = std::move(serve); }

void set_check_store(CheckStore check) { the_check() = std::move(check); }

std::vector<wire::Check> check_store_files(const std::filesystem::path& state) {
  return the_check() ? the_check()(state) : std::vector<wire::Check>();
}

Command make_serve() {
  return {
      .name = "serve",
      .summary = "Run the daemon in the foreground",
      .about =
          R"(Commands start the daemon on demand. Use `serve` to run it in the foreground or under a service manager.
Only one daemon can use a state folder at a time.

With --http, or server.http in the config, it also listens on a port, for clients with a token
(`reeve token create`). Only loopback addresses are accepted, unless server.tls in the config names a
certificate or a proxy in front encrypts the traffic (--behind-proxy). Local programs find a token in
http.token in the state folder.

Exit codes: 0 stopped, 1 failed, 4 another daemon uses the folder.)",
      .examples = {{"reeve serve", "until Ctrl-C or reeve stop"},
                   {"reeve serve --http 127.0.0.1:7433", "also for clients with a token"},
                   {"reeve serve --store postgresql://reeve@db/reeve", "with a shared store"}},
      .positionals = {},
      .options = {{.name = "--store",
                   .value = "URL",
                   .help = "sqlite or postgresql://…, instead of the config's store"},
                  {.name = "--http", .value = "ADDR", .help = "also listen on 127.0.0.1:7433, [::1]:0, …; or off"},
                  {.name = "--behind-proxy", .help = "a proxy encrypts the traffic; allow any address"},
                  {.name = "--background", .help = "used by clients to start it; silent once it is reachable"}},
      .run = run,
  };
}

}  // namespace reeve::cli
