#pragma once

#include <vector>

#include "spec/config_file.h"

namespace reeve::project {

// Every value of the config for people's eyes: secrets and addresses that carry some are masked (LOG-4).
std::vector<spec::ConfigEntry> shown_entries(const spec::LoadedConfig& loaded);

}  // namespace reeve::project
