#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// Requests to an opencode server.
namespace reeve::agents {

// An id that can be part of a path.
std::optional<std::string> path_id_of(const base::Value& value, std::string_view key);
// "/session/ID/abort".
std::string make_opencode_target(std::string_view collection, std::string_view id, std::string_view action = {});

// A model is "PROVIDER/MODEL"; without one the session keeps its own.
base::Value make_opencode_prompt(std::string_view prompt, const std::optional<std::string>& model);
base::Value make_opencode_approval();
base::Value make_opencode_refusal(std::string_view reason);

}  // namespace reeve::agents
