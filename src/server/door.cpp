#include "server/door.h"

#include <fmt/format.h>

#include "base/error.h"
#include "os/unix_socket.h"
#include "runtime/door_place.h"

namespace reeve::server {

namespace {

constexpr HttpServer::Limits door_limits{.header_bytes = 16UZ * 1024, .body_bytes = 64UZ * 1024, .connections = 8};
constexpr int backlog = 8;

}  // namespace

Doors::Doors(runtime::Daemon& daemon) : daemon_(daemon) {
  daemon_.supervisor().set_door(
      {.open = [this](base::RunId run) { open(run); }, .close = [this](base::RunId run) { close(run); }});
}

Doors::~Doors() { daemon_.supervisor().set_door({}); }

void Doors::open(base::RunId run) {
  const project::StateFolder& state = daemon_.around().folder;
  try {
    if (!runtime::make_door_folder(state, run)) {
      base::throw_errno("os.failed", fmt::format("cannot make {}", runtime::door_folder(state, run)), errno);
    }
    auto door = std::make_unique<HttpServer>(
        daemon_.loop(),
        [this, run](Request request, std::shared_ptr<Responder> responder) {
          handle_at_door(daemon_, run, std::move(request), std::move(responder));
        },
        door_limits);
    door->count_in(daemon_.meters().run_doors);
    door->accept(os::listen_at(runtime::door_socket(state, run), os::SocketKind::stream, backlog));
    doors_.insert_or_assign(run, std::move(door));
  } catch (const base::Error& error) {
    // The run goes on without: what its tool prints is heard all the same.
    daemon_.options().complain(fmt::format("no socket for {}: {}", run.text(), error.message()));
  }
}

void Doors::close(base::RunId run) {
  if (doors_.erase(run) > 0) runtime::remove_door_folder(daemon_.around().folder, run);
}

}  // namespace reeve::server
