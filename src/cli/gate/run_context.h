#pragma once

#include <filesystem>
#include <optional>

namespace reeve::cli {

// The run that this process belongs to, from the variables that the daemon sets for an attempt, or from the ancestors
// of a process that dropped them.
struct RunContext {
  bool is_inside = false;
  // REEVE_SOCKET. Empty inside a run whose variables are gone: nobody can be asked.
  std::optional<std::filesystem::path> socket = {};
};
RunContext find_run_context();

}  // namespace reeve::cli
