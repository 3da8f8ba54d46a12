#pragma once

#include <filesystem>
#include <vector>

#include "wire/check.h"

namespace reeve::server {

// The SQLite version, and whether it has the bug that can lose commits.
wire::Check check_sqlite();
// The same, plus the database of a state folder. Takes up to a few seconds: never call it on the loop's thread.
std::vector<wire::Check> check_store_files(const std::filesystem::path& state);

}  // namespace reeve::server
