#include "agents/protocol/first_prompt.h"

namespace reeve::agents {

std::string make_first_prompt(const AgentSetup& setup) {
  if (!setup.resumes || !setup.has_deferred_call) return setup.prompt;
  return "Go on where you were interrupted. Your last tool call was not run, because a person had to decide about it "
         "first. The decision is there now: make exactly the same call again, and it will be answered.";
}

}  // namespace reeve::agents
