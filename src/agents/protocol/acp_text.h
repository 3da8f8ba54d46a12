#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// Messages that an agent sends in pieces, told as a whole; a long one in parts of at most max_event_text.
class AcpText {
 public:
  using Events = std::vector<AgentEvent>;

  // Pieces of one message have the same id, if the agent gives them ids.
  void add(std::string_view id, std::string_view piece, Events& events);
  // Something else came: the message is whole.
  void finish(Events& events);
  // The latest message, cut at max_event_text; forgotten with the call.
  std::string take_last();

 private:
  void tell(Events& events);

  std::string id_;
  // Not told yet.
  std::string open_;
  std::string last_;
  bool is_whole_ = true;
};

}  // namespace reeve::agents
