#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "spec/bind.h"

// What files of every kind refer to: names of the config, inputs in templates.
namespace reeve::spec {

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.emplace_back(key);
  return keys;
}

// Those of the config and those that exist without one (AGT-3).
std::vector<std::string> known_roles(const model::Config& config);
// Ids may become names of branches, folders and arguments: letters, digits, `_` and `-` only (ISO-5). An empty one is
// told where it is missing.
void check_name(const std::string& id, std::string_view noun, const YamlNode& place, Binder& binder);
void check_role(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder);
// The role's own tool, or the only one that the config has: an error before a start, else a warning of what a start
// would refuse. Unknown roles are told elsewhere.
void check_role_tool(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder,
                     base::Severity severity);
// Named by a task itself.
void check_tool(const std::string& tool, const model::Config& config, const YamlNode& place, Binder& binder);
// A warning where the role's prompt drops the task and nobody has said that this is meant.
void check_role_prompt(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder);
void check_template(const std::string& text, const YamlNode& place, Binder& binder);

}  // namespace reeve::spec
