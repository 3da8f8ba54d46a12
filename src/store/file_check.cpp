#include "store/file_check.h"

#include <memory>

#include <sqlite3.h>

namespace reeve::store {

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Close {
  void operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};

// Nonzero aborts the statement.
int is_late(void* limit) { return SteadyClock::now() >= *static_cast<SteadyClock::time_point*>(limit) ? 1 : 0; }

FileCheck outcome_of(int status, sqlite3* database) {
  const std::string words = ::sqlite3_errmsg(database);
  switch (status & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {FileHealth::damaged, words};
    case SQLITE_INTERRUPT:
    case SQLITE_BUSY:
      return {FileHealth::unfinished, words};
    default:
      return {FileHealth::unreadable, words};
  }
}

}  // namespace

std::string sqlite_version() { return ::sqlite3_libversion(); }

bool has_wal_reset_bug(int version) noexcept {
  if (version < 3'007'000 || version >= 3'051'003) return false;
  const bool is_mended = (version >= 3'050'007 && version < 3'051'000) || (version >= 3'044'006 && version < 3'045'000);
  return !is_mended;
}

bool has_wal_reset_bug() noexcept { return has_wal_reset_bug(::sqlite3_libversion_number()); }

FileCheck check_file(const std::filesystem::path& file, std::chrono::milliseconds limit) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(file.parent_path(), error);
  if (error) return {FileHealth::unreadable, error.message()};
  SteadyClock::time_point until = SteadyClock::now() + limit;
  sqlite3* opened = nullptr;
  // A symlink in place of the file is not followed.
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
  const int opening = ::sqlite3_open_v2((folder / file.filename()).c_str(), &opened, flags, nullptr);
  const std::unique_ptr<sqlite3, Close> database(opened);
  if (opening != SQLITE_OK) return outcome_of(opening, database.get());
  // The last connection to close would otherwise write the log into the database.
  ::sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  ::sqlite3_busy_timeout(database.get(), static_cast<int>(limit.count()));
  constexpr int steps = 10'000;
  ::sqlite3_progress_handler(database.get(), steps, is_late, &until);
  sqlite3_stmt* made = nullptr;
  const int preparing = ::sqlite3_prepare_v2(database.get(), "PRAGMA quick_check(1)", -1, &made, nullptr);
  const std::unique_ptr<sqlite3_stmt, Close> statement(made);
  if (preparing != SQLITE_OK) return outcome_of(preparing, database.get());
  const int status = ::sqlite3_step(statement.get());
  if (status != SQLITE_ROW) return outcome_of(status, database.get());
  const unsigned char* words = ::sqlite3_column_text(statement.get(), 0);
  const std::string said = words != nullptr ? reinterpret_cast<const char*>(words) : "";
  if (said == "ok") return {FileHealth::sound, {}};
  return {FileHealth::damaged, said};
}

}  // namespace reeve::store
