#include "cli/gate/run_context.h"

#include "cli/connect.h"
#include "project/project.h"

namespace reeve::cli {

RunContext find_run_context() {
  const auto socket = project::variable("REEVE_SOCKET");
  if (socket) return {.is_inside = true, .socket = *socket};
  return {.is_inside = is_inside_run()};
}

}  // namespace reeve::cli
