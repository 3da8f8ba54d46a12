#pragma once

#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/recent.h"
#include "base/value.h"

namespace reeve::agents {

// What the model says in the main session of an opencode server, and how its turn ends.
class OpencodeTurn {
 public:
  void begin();
  // The turn ends as an interrupted one.
  void interrupt() noexcept { is_interrupted_ = true; }

  // A message of the model.
  void on_message(const base::Value& info);
  // A part of type `text`.
  std::vector<AgentEvent> on_text(const base::Value& part);
  struct Error {
    std::vector<AgentEvent> events;
    bool ends_turn = false;
  };
  // `is_of_server`: of no session.
  Error on_error(const base::Value& error, bool is_of_server);
  void on_failure(std::string text) { error_ = std::move(text); }
  // Nothing if no turn is open. `refused`: calls.
  std::vector<AgentEvent> end(std::vector<std::string> refused);

 private:
  // True for a summary, which nobody asked for.
  Recent<bool> messages_{2048};
  Recent<bool> said_{4096};
  std::string text_;
  std::string error_;
  bool is_open_ = false;
  bool is_interrupted_ = false;
};

// The message of an error: {"name": "APIError", "data": {"message": …}}.
std::string describe_opencode_error(const base::Value& error);

}  // namespace reeve::agents
