#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace reeve::cli {

struct ServeOptions {
  // Absolute; exists or not.
  std::filesystem::path state;
  std::optional<std::string> store;
  std::optional<std::string> http;
  bool behind_proxy = false;
  // Started by a client: closes standard output and error as soon as it can be reached.
  bool background = false;
};

// The daemon, which lies above this layer: whoever starts the program hands it in. Returns the exit code, throws
// base::Error.
using Serve = std::function<int(const ServeOptions&)>;
void set_serve(Serve serve);

}  // namespace reeve::cli
