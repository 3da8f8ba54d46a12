#pragma once

#include <functional>

#include "model/config.h"
#include "spec/bind.h"
#include "spec/yaml.h"

namespace reeve::spec {

// Checks beyond keys and types: names that must exist, ranges, and settings that a project's file may not make for its
// user. `is_from_project` returns whether a value comes from the project's own file.
void check_config(const model::Config& config, const YamlNode& root,
                  const std::function<bool(const YamlNode&)>& is_from_project, Binder& binder);

}  // namespace reeve::spec
