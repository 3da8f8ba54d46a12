#pragma once

#include <filesystem>
#include <vector>

#include "wire/check.h"

namespace reeve::server {

// The version of SQLite, and whether it may lose commits of others.
wire::Check check_sqlite();
// The same and the database of a state folder, read for at most a few seconds: never on the loop's thread.
std::vector<wire::Check> check_store_files(const std::filesystem::path& state);

}  // namespace reeve::server
