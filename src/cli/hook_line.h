#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/hook_dialect.h"

// `reeve hook DIALECT`: the gate of an agent that starts this program before each tool call. The agent runs the call if
// the program fails in any other way than by exit code 2, so every failure becomes that code.
namespace reeve::cli {

struct HookLine {
  agents::HookDialect dialect = agents::HookDialect::claude;
  // Outside a run, denies instead of leaving the call to the agent's own rules.
  bool is_required = false;
  // Default: what the agent waits for a hook without a timeout of its own, less a margin.
  std::optional<int> give_up_seconds = {};
};

inline constexpr int max_give_up_seconds = 7 * 24 * 3600;

// The plain forms of the line, without the table of commands, because an agent waits for each start; nothing for
// anything else, such as `--help`.
std::optional<HookLine> find_hook_line(const std::vector<std::string>& words);
// Whether the words may be meant as a hook, so that a failure must block.
bool is_hook_line(const std::vector<std::string>& words) noexcept;
// From 1 to `max_give_up_seconds`.
std::optional<int> parse_give_up(const std::string& word);

// Reads the input, asks, answers. Returns the exit code.
int run_hook(const HookLine& line) noexcept;

}  // namespace reeve::cli
