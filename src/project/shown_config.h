#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/config_file.h"

namespace reeve::project {

struct ShownEntry : spec::ConfigEntry {
  // The project's value for this key, and why it is ignored.
  std::optional<spec::IgnoredValue> ignored;
};

// All config values for display: secrets, and addresses that contain secrets, are masked (LOG-4).
std::vector<ShownEntry> shown_entries(const spec::LoadedConfig& loaded);
// Masks a single value.
base::Value shown_value(const std::string& path, base::Value value, const model::Config& config);

}  // namespace reeve::project
