#pragma once

#include "model/config.h"
#include "spec/bind.h"
#include "spec/yaml.h"

namespace reeve::spec {

// Rules of policies: denials that they would loosen (TOOL-1), and conditions that do not apply to their tool or would
// approve more than they say (TOOL-8).
void check_policies(const model::Config& config, const YamlNode& root, Binder& binder);

}  // namespace reeve::spec
