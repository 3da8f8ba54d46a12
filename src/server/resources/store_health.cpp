#include "server/resources/store_health.h"

#include <fmt/format.h>

#include "store/file_check.h"

namespace reeve::server {

namespace {

using wire::Check;
using wire::Health;

Check check_database(const std::filesystem::path& file) {
  constexpr std::chrono::seconds limit(5);
  Check check{.name = "database", .status = Health::ok, .detail = file.string(), .fix = {}};
  std::error_code error;
  const auto status = std::filesystem::symlink_status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    check.detail += " (not there yet)";
    return check;
  }
  const store::FileCheck found = store::check_file(file, limit);
  switch (found.health) {
    case store::FileHealth::sound:
      check.detail += ": quick_check found no errors";
      break;
    case store::FileHealth::unfinished:
      check.status = Health::warn;
      check.detail += fmt::format(": quick_check did not finish within {} s ({})", limit.count(), found.detail);
      check.fix = "check again when the machine is less busy";
      break;
    case store::FileHealth::unreadable:
      check.status = Health::fail;
      check.detail += fmt::format(": {}", found.detail);
      check.fix = "check its owner, and that it is a regular file";
      break;
    case store::FileHealth::damaged:
      check.status = Health::fail;
      check.detail += fmt::format(" is damaged: {}", found.detail);
      check.fix =
          "run `reeve stop`, copy the state folder, then recover what is readable with `sqlite3 reeve.db .recover`";
      break;
  }
  return check;
}

}  // namespace

Check check_sqlite() {
  const std::string version = store::sqlite_version();
  if (!store::has_wal_reset_bug()) return {"sqlite", Health::ok, version, {}};
  return {
      "sqlite", Health::warn,
      fmt::format("{} has the WAL-reset bug: in rare cases a commit is lost while another program writes to reeve.db; "
                  "Reeve alone does not trigger it",
                  version),
      "update SQLite to 3.51.3 (or 3.50.7, 3.44.6); until then make changes with commands or the API, not with SQL"};
}

std::vector<Check> check_store_files(const std::filesystem::path& state) {
  return {check_sqlite(), check_database(state / "reeve.db")};
}

}  // namespace reeve::server
