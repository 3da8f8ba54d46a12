#pragma once

#include <functional>

#include "model/config.h"
#include "spec/bind.h"
#include "spec/yaml.h"

namespace reeve::spec {

// What keys and types cannot say: names that must exist, ranges, and what a project's file may not decide for its user.
// `is_from_project` tells whether a value stands in the project's own file.
void check_config(const model::Config& config, const YamlNode& root,
                  const std::function<bool(const YamlNode&)>& is_from_project, Binder& binder);

}  // namespace reeve::spec
