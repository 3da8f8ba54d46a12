#pragma once

#include <optional>
#include <string>

#include "client/daemon.h"

namespace reeve::client {

// The daemon's port for programs with a token.
struct PortHealth {
  // "http://127.0.0.1:7433"; nothing if it is closed.
  std::optional<std::string> url;
  // Why the configured port could not be opened, and what to do; empty if it could.
  std::string problem;
  std::string fix;
};
PortHealth get_port_health(Daemon& daemon);

}  // namespace reeve::client
