#pragma once

#include <filesystem>

#include "client/daemon.h"
#include "wire/import_record.h"

namespace reeve::client {

struct ImportAnswer {
  // The response as received.
  base::Value wire;
  wire::ImportRecord record;
};
// Imports the file, or only reports what would be imported. The path is absolute.
ImportAnswer import_database(Daemon& daemon, const std::filesystem::path& path, bool is_dry_run);

}  // namespace reeve::client
