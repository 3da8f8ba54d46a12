#pragma once

#include <optional>
#include <string>

#include "project/state_folder.h"

namespace reeve::server {

struct ServeOptions {
  project::StateFolder folder;
  std::optional<std::string> store = {};
  // Where to listen besides the socket, overriding the config.
  std::optional<std::string> http = {};
  // A proxy in front encrypts the connection.
  bool is_behind_proxy = false;
  // Started by a client: prints nothing, and exits when idle.
  bool is_background = false;
};

// Runs the daemon, from locking its folder to the end. Returns the exit code; startup errors are printed to standard
// error.
int serve(const ServeOptions& options);

}  // namespace reeve::server
