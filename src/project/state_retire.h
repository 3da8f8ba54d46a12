#pragma once

#include <filesystem>

#include "project/registry.h"

// What happens to a project's own state folder once its records are in the common one (`reeve state move`).
namespace reeve::project {

// Throws `cli.usage` unless this is the own state folder of a project whose config does not ask for one; and what
// check_state_folder(), check_database_files() and refuse_links() throw.
KnownPlace check_movable_state(const std::filesystem::path& root);

// Copies the regular files of a run's folder, and its subfolders, into a new folder; no link is followed. The copy
// appears complete or not at all, and an existing one is kept.
void copy_run_folder(const std::filesystem::path& from, const std::filesystem::path& to);

// Renames the folder beside itself, so that the project has no state of its own any more, and forgets its id. Returns
// the new path.
std::filesystem::path retire_state_folder(const KnownPlace& place);

}  // namespace reeve::project
