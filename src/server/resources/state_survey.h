#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reeve::server {

// The pending work in a Reeve database that has not been adopted yet.
struct PendingWork {
  struct Entry {
    std::string id;
    std::string status;
    std::string what;
  };
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  std::int64_t approvals = 0;
  // Tokens that are not revoked.
  std::int64_t tokens = 0;
  // The first 20 of each.
  std::vector<Entry> entries;
};

// Reads the database as an untrusted file (store/foreign_file.h). Throws base::Error.
PendingWork survey_database(const std::filesystem::path& database);

}  // namespace reeve::server
