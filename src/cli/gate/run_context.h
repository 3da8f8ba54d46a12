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
  // REEVE_AGENT_SOCKET: the agent has an adapter, which decides about all of its calls.
  std::optional<std::filesystem::path> agent_socket = {};
};
RunContext find_run_context();

}  // namespace reeve::cli
