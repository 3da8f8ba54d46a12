#pragma once

#include <filesystem>

#include "client/daemon.h"
#include "wire/backup_record.h"

namespace reeve::client {

struct BackupAnswer {
  // The response as received.
  base::Value wire;
  wire::BackupRecord record;
};
// The path is absolute.
BackupAnswer create_backup(Daemon& daemon, const std::filesystem::path& path);

}  // namespace reeve::client
