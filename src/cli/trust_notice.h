#pragma once

#include <filesystem>

namespace reeve::cli {

// Which commands of the project a start may run.
enum class Brings { nothing, commands };

// Before something is started from a folder of this machine: what of its project's config is ignored because it is not
// trusted, and, the first time, the commands that the config brings along (SPEC §7). Silent inside a run: there is
// nobody to be told.
void tell_trust(const std::filesystem::path& folder, Brings brings);

}  // namespace reeve::cli
