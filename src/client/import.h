#pragma once

#include <filesystem>

#include "client/daemon.h"
#include "wire/import_record.h"

namespace reeve::client {

struct ImportAnswer {
  // As it came.
  base::Value wire;
  wire::ImportRecord record;
};
// Has the daemon take over the file, or only say what it would take. The path is absolute.
ImportAnswer import_database(Daemon& daemon, const std::filesystem::path& path, bool is_dry_run);

}  // namespace reeve::client
