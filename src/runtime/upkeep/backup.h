#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "project/state_folder.h"

namespace reeve::runtime {

// Writes a backup of a state folder with a SQLite database (project/backup_archive.h): the database, the output of runs
// and the log, but no launch files, settings of executions or tokens, which contain secrets. Blocks for long; the
// daemon keeps working. Throws `backup.*`.
struct BackupOrder {
  project::StateFolder folder;
  std::filesystem::path database;
  std::filesystem::path target;
  base::WallTime now;
};
struct BackupResult {
  std::string digest;
  std::uint64_t bytes = 0;
  std::int64_t files = 0;
};
BackupResult write_backup(const BackupOrder& order, const std::stop_token& stop);

// Removes the copy of the database that a killed daemon has left.
void remove_backup_drafts(const project::StateFolder& folder) noexcept;

}  // namespace reeve::runtime
