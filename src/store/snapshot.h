#pragma once

#include <filesystem>
#include <stop_token>

namespace reeve::store {

// Writes a consistent copy of a SQLite database for a backup while a daemon works on it: without tokens, so that a copy
// gives nobody access, and without stored responses. `target` must not exist. Throws `backup.failed`, `backup.stopped`.
void snapshot_database(const std::filesystem::path& source, const std::filesystem::path& target,
                       const std::stop_token& stop);

}  // namespace reeve::store
