#include "cli/gate/run_context.h"

#include "cli/connect.h"
#include "project/project.h"

namespace reeve::cli {

RunContext find_run_context() {
  const auto socket = project::variable("REEVE_SOCKET");
  const auto agent_socket = project::variable("REEVE_AGENT_SOCKET");
  RunContext context{.is_inside = socket || agent_socket || is_inside_run()};
  if (socket) context.socket = *socket;
  if (agent_socket) context.agent_socket = *agent_socket;
  return context;
}

}  // namespace reeve::cli
