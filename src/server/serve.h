#pragma once

#include <optional>
#include <string>

#include "project/state_folder.h"

namespace reeve::server {

struct ServeOptions {
  project::StateFolder folder;
  std::optional<std::string> store = {};
  // Where to listen beside the socket, instead of the config's.
  std::optional<std::string> http = {};
  // Who stands in front of it encrypts.
  bool is_behind_proxy = false;
  // Started by a client: says nothing, and leaves when it is idle.
  bool is_background = false;
};

// The daemon, from the lock on its folder to the end. Returns the exit code of the program; failures to begin are told
// on standard error.
int serve(const ServeOptions& options);

}  // namespace reeve::server
