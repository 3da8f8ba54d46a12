#include "agents/protocol/acp_command.h"

namespace reeve::agents {

AgentCommand make_acp_command(const AgentSetup& setup) {
  return {
      .argv = setup.command,
      // An agent that replaces itself would no longer be the one whose gate was checked. Documented switches of Claude
      // Code, npm's update-notifier and opencode; others ignore them.
      .environment = {{"DISABLE_AUTOUPDATER", "1"}, {"NO_UPDATE_NOTIFIER", "1"}, {"OPENCODE_DISABLE_AUTOUPDATE", "1"}},
  };
}

}  // namespace reeve::agents
