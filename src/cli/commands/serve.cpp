#include "cli/commands/serve.h"

#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"
#include "cli/state_option.h"
#include "client/health.h"
#include "project/daemon_holder.h"
#include "project/project.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

using base::Value;

Serve& the_serve() {
  static Serve serve;
  return serve;
}

CheckStore& the_check() {
  static CheckStore check;
  return check;
}

// systemd passed the daemon's socket to this process: connecting to it would wait for this process itself.
bool is_activated() { return project::variable("LISTEN_PID") == std::to_string(::getpid()); }

// The local daemon that `--http` and `--replace` act on.
client::DaemonPlace running_place(const Call& call) {
  client::DaemonPlace place = daemon_place(call);
  if (!place.host) return place;
  throw base::Error(base::ErrorCode::cli_usage, "`reeve serve` works only on this machine, but REEVE_HOST is set",
                    "unset REEVE_HOST, or run it on that machine");
}

// The port of the daemon that runs there, which may have been opened by hand.
std::optional<std::string> find_open_port(client::DaemonPlace place) try {
  if (project::is_cut_off(project::StateFolder{place.folder})) return std::nullopt;
  place.no_start = "`reeve serve` is the daemon itself";
  place.timeout = std::chrono::seconds(2);
  client::Daemon daemon(std::move(place));
  return daemon.is_running() ? client::get_port_health(daemon).url : std::nullopt;
} catch (const base::Error&) {
  return std::nullopt;
}

// Opens the port of a daemon that is already running. Nothing if none is.
std::optional<ExitCode> open_port(const Call& call, const std::string& address) {
  client::DaemonPlace place = running_place(call);
  place.no_start = "`reeve serve` is the daemon itself";
  client::Daemon daemon(std::move(place));
  if (!daemon.is_running()) return std::nullopt;
  for (const char* option : {"--store", "--behind-proxy"}) {
    if (!call.arguments.has(option)) continue;
    throw base::Error(base::ErrorCode::cli_usage,
                      fmt::format("`{}` cannot change a daemon that is already running", option),
                      "start another one in its place: reeve serve --replace …");
  }
  Value request = Value::object();
  request.set("address", Value::string(address));
  const Value answer = daemon.post("/api/daemon/listen", request);
  const Value* bound = answer.find("bound");
  if (bound == nullptr || bound->as_string() == nullptr) client::throw_bad_answer("no `bound`");
  if (call.is_json) {
    print_json(call, answer);
  } else {
    fmt::print("the running daemon now listens at {}\n", base::visible(*bound->as_string()));
  }
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  refuse_host(call, "serve");
  const bool is_background = call.arguments.has("--background");
  const auto address = call.arguments.value("--http");
  if (is_activated()) {
    // Nobody else can answer on this socket.
  } else if (call.arguments.has("--replace")) {
    const client::DaemonPlace place = running_place(call);
    const std::optional<std::string> port = address ? std::nullopt : find_open_port(place);
    const bool was_running = stop_daemon(place);
    if (was_running && port) {
      print_aside("note: the daemon that was replaced listened at {}; unless the config opens that port, add --http\n",
                  base::visible(*port));
    }
  } else if (address && *address != "off" && !is_background) {
    if (const auto code = open_port(call, *address)) return *code;
  }
  if (!the_serve()) throw base::Error(base::ErrorCode::daemon_unavailable, "this program was built without the daemon");
  return static_cast<ExitCode>(the_serve()({
      .state = find_state_option(call).root,
      .store = call.arguments.value("--store"),
      .http = address,
      .behind_proxy = call.arguments.has("--behind-proxy"),
      .background = is_background,
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
Only one daemon can use a state folder at a time; --replace stops the running one first, and its runs
continue. Without a state folder of its own, a project is served by your common daemon. Under systemd, the
socket can be passed by a socket unit (packaging/).

With --http, or server.http in the config, it also listens on a port, for clients with a token
(`reeve token create`). Only loopback addresses are accepted, unless server.tls in the config names a
certificate or a proxy in front encrypts the traffic (--behind-proxy). Local programs find a token in
http.token in the state folder. If a daemon is already running, --http opens the port there and returns.

Exit codes: 0 stopped, 1 failed, 4 another daemon uses the folder.)",
      .examples = {{"reeve serve", "until Ctrl-C or reeve stop"},
                   {"reeve serve --replace", "in the place of the running daemon"},
                   {"reeve serve --http 127.0.0.1:7433", "also for clients with a token"},
                   {"reeve serve --store postgresql://reeve@db/reeve", "with a shared store"}},
      .positionals = {},
      .options = {{.name = "--store",
                   .value = "URL",
                   .help = "sqlite or postgresql://…, instead of the config's store"},
                  {.name = "--http", .value = "ADDR", .help = "also listen on 127.0.0.1:7433, [::1]:0, …; or off"},
                  {.name = "--replace", .help = "stop the running daemon first; its runs continue"},
                  {.name = "--behind-proxy", .help = "a proxy encrypts the traffic; allow any address"},
                  {.name = "--background", .help = "used by clients to start it; silent once it is reachable"}},
      .run = run,
  };
}

}  // namespace reeve::cli
