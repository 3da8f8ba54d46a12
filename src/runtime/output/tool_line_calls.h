#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/output/tool_line.h"

// Finds which tool an agent requested when the call was refused (TOOL-6).
namespace reeve::runtime {

// The tool name in a message such as "No such tool available: Bash"; nothing if there is none.
std::optional<std::string> find_tool_name(std::string_view message);

// The last tool calls in an attempt's output. Calls are identified only by what the agent prints, so the result is for
// display and decides nothing.
class ToolCalls {
 public:
  static constexpr std::size_t max_kept = 64;

  // Records a line if it contains calls: {"type":"tool_use","id","name"}, alone or in the `content` of a message.
  void note(std::string_view line);
  // Looks up by the id of the failed call, then by the message, then takes the last call. Nothing if none applies.
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
