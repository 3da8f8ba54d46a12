#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

// What an agent can use instead of a tool that it does not have (TOOL-6).
namespace reeve::engine {

// From the config first, then from the built-in table; without repetitions. The case of the name does not matter.
std::vector<std::string> find_fallbacks(std::string_view tool, const model::AgentSettings& settings);

// "`Bash` is not available; use `shell_execute` instead": names the fallbacks that are available. Nothing if there are
// none, or if the tool is available.
std::optional<std::string> make_hint(std::string_view tool, std::span<const std::string> available,
                                     const model::AgentSettings& settings);

}  // namespace reeve::engine
