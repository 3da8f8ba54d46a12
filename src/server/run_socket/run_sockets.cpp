#include "server/run_socket/run_sockets.h"

#include <fmt/format.h>

#include "base/error.h"
#include "os/unix_socket.h"
#include "runtime/gate/call_request.h"
#include "runtime/runs/run_socket_path.h"

namespace reeve::server {

namespace {

// Every call that waits has a connection of its own: 1,000 may wait (ledger/tool_calls.cpp), and others come besides.
constexpr std::size_t max_connections = 1'024;
// A connection that waits holds a few kilobytes; what bodies may take at a time is limited for all of them.
constexpr std::size_t max_bodies_bytes = 256UZ * 1024 * 1024;
// Those of each run, whatever other runs have open.
constexpr std::size_t own_connections = 4;
constexpr int backlog = 256;

}  // namespace

RunSockets::RunSockets(runtime::Daemon& daemon)
    : daemon_(daemon), api_(daemon), pool_{.most = daemon.context().descriptors.max_run_connections} {
  daemon_.supervisor().set_lifetime_hooks(
      {.open = [this](base::RunId run) { open(run); }, .close = [this](base::RunId run) { close(run); }});
}

RunSockets::~RunSockets() { daemon_.supervisor().set_lifetime_hooks({}); }

void RunSockets::open(base::RunId run) {
  const project::StateFolder& state = daemon_.context().folder;
  try {
    if (!runtime::make_run_socket_folder(state, run)) {
      base::throw_errno(base::ErrorCode::os_failed,
                        fmt::format("cannot make {}", runtime::run_socket_folder(state, run)), errno);
    }
    auto server = std::make_unique<HttpServer>(
        daemon_.loop(),
        [this, run](Request request, std::shared_ptr<Responder> responder) {
          api_.handle(run, std::move(request), std::move(responder));
        },
        HttpServer::Limits{.header_bytes = 16UZ * 1024,
                           .body_bytes = runtime::max_call_bytes,
                           .connections = max_connections,
                           .all_bodies_bytes = max_bodies_bytes,
                           .pool = &pool_,
                           .own_connections = own_connections});
    server->count_in(daemon_.meters().run_sockets);
    server->accept(os::listen_at(runtime::run_socket_path(state, run), os::SocketKind::stream, backlog));
    run_sockets_.insert_or_assign(run, std::move(server));
  } catch (const base::Error& error) {
    // The run continues without its socket: questions and reports that the tool prints still arrive.
    daemon_.options().log_warning(fmt::format("cannot open the run socket of {}: {}", run.text(), error.message()));
  }
}

void RunSockets::close(base::RunId run) {
  if (run_sockets_.erase(run) > 0) runtime::remove_run_socket_folder(daemon_.context().folder, run);
}

}  // namespace reeve::server
