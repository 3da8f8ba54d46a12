#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reeve::server {

// What a daemon would take up from a database of Reeve that nobody has accepted yet.
struct PendingWork {
  struct Entry {
    std::string id;
    std::string status;
    std::string what;
  };
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  std::int64_t approvals = 0;
  // Those that were not revoked.
  std::int64_t tokens = 0;
  // The first 20 of each.
  std::vector<Entry> entries;
};

// Reads it as the file of a stranger (store/foreign_file.h). Throws base::Error.
PendingWork survey_database(const std::filesystem::path& database);

}  // namespace reeve::server
