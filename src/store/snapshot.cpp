#include "store/snapshot.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::store {

namespace {

using base::Error;
using base::ErrorCode;

constexpr int steps_between_checks = 10'000;
constexpr int lock_timeout_ms = 5'000;

struct Close {
  void operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, Close>;

// Nonzero aborts the statement.
int is_stopped(void* stop) { return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0; }

[[noreturn]] void throw_failed(sqlite3* database, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    throw Error(ErrorCode::backup_stopped, "the daemon was asked to stop", "run the backup again");
  }
  throw Error(ErrorCode::backup_failed, fmt::format("the database cannot be copied: {}", ::sqlite3_errmsg(database)),
              "check the free space next to the database, and the database with `reeve doctor`");
}

Database open(const std::filesystem::path& file, int flags, const std::stop_token& stop) {
  sqlite3* opened = nullptr;
  const int status = ::sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  if (status != SQLITE_OK) throw_failed(database.get(), stop);
  ::sqlite3_busy_timeout(database.get(), lock_timeout_ms);
  ::sqlite3_progress_handler(database.get(), steps_between_checks, is_stopped, const_cast<std::stop_token*>(&stop));
  return database;
}

void run(const Database& database, const std::string& text, const std::stop_token& stop) {
  if (::sqlite3_exec(database.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw_failed(database.get(), stop);
  }
}

constexpr int pages_at_once = 1'000;

struct Finish {
  void operator()(sqlite3_backup* backup) const noexcept { ::sqlite3_backup_finish(backup); }
};

// Page by page within one read transaction, so that commits of the daemon neither wait nor restart it. (`VACUUM INTO`
// of SQLite 3.40 fails on tables with generated columns.)
void copy_pages(const Database& source, const Database& target, const std::stop_token& stop) {
  run(source, "BEGIN; SELECT COUNT(*) FROM sqlite_master", stop);
  const std::unique_ptr<sqlite3_backup, Finish> backup(
      ::sqlite3_backup_init(target.get(), "main", source.get(), "main"));
  if (!backup) throw_failed(target.get(), stop);
  int status = SQLITE_OK;
  while (status == SQLITE_OK) {
    if (stop.stop_requested()) throw_failed(target.get(), stop);
    status = ::sqlite3_backup_step(backup.get(), pages_at_once);
  }
  if (status != SQLITE_DONE) throw_failed(target.get(), stop);
}

}  // namespace

void snapshot_database(const std::filesystem::path& source, const std::filesystem::path& target,
                       const std::stop_token& stop) {
  constexpr int created = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW;
  const Database copy = open(target, created, stop);
  {
    const Database database = open(source, SQLITE_OPEN_READONLY, stop);
    // The daemon alone writes the log into the database.
    ::sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    copy_pages(database, copy, stop);
  }
  // Nothing of the removed values remains in free pages. A token's name stays, because names are never used again.
  run(copy,
      "PRAGMA journal_mode = DELETE; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;"
      "UPDATE tokens SET hash = 'removed from a backup: ' || number,"
      "  revoked_at = COALESCE(revoked_at, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));"
      "DELETE FROM idempotency_keys; COMMIT",
      stop);
}

}  // namespace reeve::store
