#pragma once

#include <memory>
#include <string>

#include "os/fd.h"
#include "server/http_connection.h"
#include "server/websocket.h"

namespace reeve::server {

// Takes a socket over from HTTP: answers the request, which check_upgrade() has found right, with 101. `rest` is what
// had been read behind the request. The connection is not yet known to the host.
struct UpgradedSocket {
  os::Fd socket;
  std::string rest;
};
struct UpgradedConnection {
  std::shared_ptr<Connection> connection;
  std::shared_ptr<WebSocket> socket;
};
UpgradedConnection open_websocket(std::shared_ptr<Host> host, UpgradedSocket from, const Request& request,
                                  const WebSocketLimits& limits);

}  // namespace reeve::server
