#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/check.h"

namespace reeve::cli {

struct ServeOptions {
  // Absolute; need not exist.
  std::filesystem::path state;
  std::optional<std::string> store;
  std::optional<std::string> http;
  bool behind_proxy = false;
  // Started by a client: closes standard output and error as soon as it is reachable.
  bool background = false;
};

// The daemon is in a higher layer, so main() passes it in. Returns the exit code, throws base::Error.
using Serve = std::function<int(const ServeOptions&)>;
void set_serve(Serve serve);

// The store's report on its library and the database of a state folder, for `reeve doctor`; passed in likewise.
using CheckStore = std::function<std::vector<wire::Check>(const std::filesystem::path& state)>;
void set_check_store(CheckStore check);
std::vector<wire::Check> check_store_files(const std::filesystem::path& state);

}  // namespace reeve::cli
