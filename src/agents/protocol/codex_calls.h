#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/codex_items.h"
#include "base/value.h"

namespace reeve::agents {

// The calls of a Codex process that were announced and have no result, bounded in number and size. `bytes` is the
// length of the line that an item came in. A fault means that the process cannot be understood any more.
class CodexCalls {
 public:
  using Events = std::vector<AgentEvent>;
  using Fault = std::optional<ProtocolFault>;

  // `item/started`.
  Fault start(const base::Value& item, std::size_t bytes, Events& events);
  // A call that is asked about, if it was not announced before.
  Fault announce(const CodexCall& call, std::size_t bytes, Events& events);
  // `item/completed`.
  Fault complete(const base::Value& item, std::size_t bytes, Events& events);
  // `item/fileChange/patchUpdated`: a change must stay the same while an approval of it is open.
  Fault change(const base::Value& params, bool is_asked, std::size_t bytes);
  // `item/commandExecution/terminalInteraction`: text is a call that nobody was asked about.
  void type(const base::Value& params, Events& events);

  // Of an open call, otherwise null.
  const base::Value& find_arguments(const std::string& call) const;
  // Calls that Codex says were declined, since the last time.
  std::vector<std::string> take_refused();

 private:
  struct OpenCall {
    std::string tool;
    base::Value arguments;
    std::size_t bytes = 0;
  };

  std::map<std::string, OpenCall> calls_;
  std::size_t bytes_ = 0;
  std::uint64_t typings_ = 0;
  std::vector<std::string> refused_;
};

}  // namespace reeve::agents
