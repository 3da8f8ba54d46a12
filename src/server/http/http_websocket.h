#pragma once

#include <memory>
#include <string>

#include "os/fd.h"
#include "server/http/http_connection.h"
#include "server/http/websocket.h"

namespace reeve::server {

// Takes a socket over from HTTP and answers the request, which check_upgrade() accepted, with 101. `rest` is whatever
// was read after the request. The connection is not yet registered with the host.
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
