#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tool_line.h"

// Which of its tools an agent asked for when it was told that it cannot have it (TOOL-6).
namespace reeve::runtime {

// The name that a message itself gives: "No such tool available: Bash". Nothing when it gives none.
std::optional<std::string> find_tool_name(std::string_view message);

// The last calls in one attempt's output. It tells one call from another only by what the agent prints; what it is used
// for is shown to people and decides nothing.
class ToolCalls {
 public:
  static constexpr std::size_t max_kept = 64;

  // A whole line of output; only one with calls in it is kept: {"type":"tool_use","id","name"}, alone or in the
  // `content` of a message.
  void note(std::string_view line);
  // By the id of the call that failed, by what the message says, or else by the last call. Nothing when it cannot be
  // known.
  std::optional<std::string> find_tool(const ToolUseError& error) const;

 private:
  struct Call {
    std::string id;
    std::string tool;
  };
  void add(const base::Value& object);

  std::deque<Call> calls_;
};

}  // namespace reeve::runtime
