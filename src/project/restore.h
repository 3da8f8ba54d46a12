#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "project/backup_archive.h"

namespace reeve::project {

// Fills a new or unused state folder with a backup, under a new identity. The whole backup is checked before anything
// is written. A restore that was interrupted leaves a folder that no daemon uses, and is repeated by another call.
//
// Throws `restore.*`, `state.*` and `daemon.state_folder` for the folder, `daemon.already_running`, `file.*`.
struct Restored {
  std::string about;
  std::string digest;
  std::uint64_t bytes = 0;
  std::size_t files = 0;
};
Restored restore_backup(const std::filesystem::path& file, const std::filesystem::path& root,
                        const std::optional<std::string>& expected_digest);

// Throws `restore.unfinished` if a restore into this folder was interrupted.
void refuse_unfinished_restore(const std::filesystem::path& root);

// The folder was restored, and its daemon has not yet ended what was running in the original.
bool is_just_restored(const std::filesystem::path& root);
void forget_restore(const std::filesystem::path& root);

}  // namespace reeve::project
