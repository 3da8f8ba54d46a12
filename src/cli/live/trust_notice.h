#pragma once

#include <filesystem>

namespace reeve::cli {

// Whether a start may run commands of the project.
enum class Brings { nothing, commands };

// Reports, before a start from a local folder, which keys of the project's config are ignored because it is not trusted
// and, the first time, the commands that the config defines (SPEC §7). Silent inside a run, where no user would see it.
void tell_trust(const std::filesystem::path& folder, Brings brings);

}  // namespace reeve::cli
