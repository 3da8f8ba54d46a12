#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/config_file.h"

namespace reeve::project {

struct ShownEntry : spec::ConfigEntry {
  // What the project's file has in its place, and why it does not count.
  std::optional<spec::IgnoredValue> ignored;
};

// Every value of the config for people's eyes: secrets and addresses that carry some are masked (LOG-4).
std::vector<ShownEntry> shown_entries(const spec::LoadedConfig& loaded);
// One of them.
base::Value shown_value(const std::string& path, base::Value value, const model::Config& config);

}  // namespace reeve::project
