#include "server/run_socket/run_sockets.h"

#include <fmt/format.h>

#include "base/error.h"
#include "os/unix_socket.h"
#include "runtime/gate/call_request.h"
#include "runtime/runs/run_socket_path.h"

namespace reeve::server {

namespace {

// Every call that waits has a connection of its own.
constexpr HttpServer::Limits run_socket_limits{
    .header_bytes = 16UZ * 1024, .body_bytes = runtime::max_call_bytes, .connections = 64};
constexpr int backlog = 64;

}  // namespace

RunSockets::RunSockets(runtime::Daemon& daemon) : daemon_(daemon), api_(daemon) {
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
        run_socket_limits);
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
