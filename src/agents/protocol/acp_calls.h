#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

namespace reeve::agents {

// The tool calls of an ACP session. Every message about one is an upsert: what it leaves out stays as it was. Bounded
// in number and size; `bytes` is the length of the line that a message came in.
class AcpCalls {
 public:
  using Events = std::vector<AgentEvent>;
  using Fault = std::optional<ProtocolFault>;

  // A call for the table of names (TOOL-7): the tool is the kind, the arguments are the agent's own input.
  struct Named {
    std::string call;
    std::string tool;
    base::Value arguments;
    std::optional<std::string> cwd;
  };

  // `tool_call` or `tool_call_update`.
  Fault update(const base::Value& fields, std::size_t bytes, Events& events);
  // The call of a request for permission, announced. It may be the first message about it; the id of a call that
  // has ended may be used again.
  Fault ask(const base::Value& fields, std::size_t bytes, Events& events, std::optional<Named>& asked);
  void deny(const std::string& call);
  // The end of a turn: denied calls that the agent is silent about have ended, others are forgotten. The calls that
  // were refused.
  std::vector<std::string> end_turn(Events& events);

 private:
  struct Field {
    base::Value value;
    // At most this much: the length of its line.
    std::size_t bytes = 0;
  };
  struct OpenCall {
    std::string title;
    std::string kind;
    std::optional<std::string> cwd;
    Field input;
    Field content;
    Field locations;
    std::size_t messages = 0;
    bool is_announced = false;
    bool is_denied = false;
    std::size_t bytes() const { return input.bytes + content.bytes + locations.bytes; }
  };

  Fault upsert(const std::string& id, const base::Value& fields, std::size_t bytes);
  void announce(const std::string& id, OpenCall& call, Events& events);
  void end(const std::string& id, const base::Value& fields, Events& events);
  static Named name(const std::string& id, const OpenCall& call);

  std::map<std::string, OpenCall> calls_;
  std::size_t bytes_ = 0;
  // The latest ones: agents repeat the last message about a call.
  std::deque<std::string> ended_;
  std::vector<std::string> refused_;
};

}  // namespace reeve::agents
