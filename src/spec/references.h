#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "spec/bind.h"

// References that all file types share: names in the config, inputs in templates.
namespace reeve::spec {

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, _] : map) keys.emplace_back(key);
  return keys;
}

// The config's roles and the built-in ones (AGT-3).
std::vector<std::string> known_roles(const model::Config& config);
// Ids may become names of branches, folders and arguments: letters, digits, `_` and `-` only (ISO-5). An empty id is
// not reported here but as a missing key.
void check_name(const std::string& id, std::string_view noun, const YamlNode& place, Binder& binder);
void check_role(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder);
// The role must have a tool, or the config exactly one. `severity` is an error before a start, else a warning that a
// start would fail. Unknown roles are not reported here.
void check_role_tool(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder,
                     base::Severity severity);
// A tool that a task names directly.
void check_tool(const std::string& tool, const model::Config& config, const YamlNode& place, Binder& binder);
// Warns if the role's prompt drops the task and `prompt_takes_input` does not say that this is intended.
void check_role_prompt(const std::string& role, const model::Config& config, const YamlNode& place, Binder& binder);
void check_template(const std::string& text, const YamlNode& place, Binder& binder);

}  // namespace reeve::spec
