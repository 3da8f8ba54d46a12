#include "store/sqlite.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/text.h"
#include "os/inotify.h"

namespace reeve::store {

namespace {

using base::ErrorCode;

struct CloseDatabase {
  void operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using DatabaseHandle = std::unique_ptr<sqlite3, CloseDatabase>;
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// After a failed fsync the state on disk is unknown, and a second fsync would report success.
[[noreturn]] void end_process(const char* what) noexcept {
  constexpr int io_error = 74;
  std::fprintf(stderr, "reeve: the disk failed to store a write (%s); exiting, the next start reads what is stored\n",
               what);
  std::_Exit(io_error);
}

bool is_lost_sync(int extended) { return extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_DIR_FSYNC; }

ErrorCode code_of(int extended, int system_errno) {
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::store_busy;
    case SQLITE_FULL:
      return ErrorCode::store_full;
    case SQLITE_CONSTRAINT:
      return ErrorCode::store_refused;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::store_damaged;
    case SQLITE_IOERR:
      return system_errno == ENOSPC || system_errno == EDQUOT ? ErrorCode::store_full : ErrorCode::store_failed;
    default:
      return ErrorCode::store_failed;
  }
}

std::string fix_of(ErrorCode code) {
  if (code == ErrorCode::store_busy) return "another program has locked the database: end its transaction";
  if (code == ErrorCode::store_full) return "free disk space; nothing was lost, and the request can be retried";
  if (code == ErrorCode::store_damaged) {
    return "the file is not a Reeve database, or is damaged: restore it from a backup";
  }
  return {};
}

// By default SQLite can roll back one failed statement within a transaction, for which it copies every page that the
// statement changes. Here a failure rolls back the whole transaction anyway.
std::string without_statement_journal(std::string_view text) {
  std::string changed(text);
  for (const std::string_view verb : {"UPDATE ", "INSERT "}) {
    const std::size_t found = changed.find(verb);
    const bool begins = found == 0 || (found != std::string::npos && changed[found - 1] == '\n');
    if (begins) return changed.insert(found + verb.size(), "OR ROLLBACK ");
  }
  return changed;
}

// Called once, before the first use of the library: disables statistics, for which every allocation would lock a mutex.
void configure_library() {
  static const bool is_done = [] {
    ::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return true;
  }();
  static_cast<void>(is_done);
}

// Resolves symlinks in the folder. The file itself must not be a symlink: SQLite then refuses it.
std::string real_path(const SqliteOptions& options) {
  const std::filesystem::path path(options.path);
  std::error_code error;
  const auto parent = std::filesystem::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  return error ? options.path : (parent / path.filename()).string();
}

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  bool is_null(int column) const override { return ::sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const override { return ::sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const override {
    const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(::sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

struct Prepared {
  StatementHandle handle;
  // The parameters by position, without the colon. Copied, because SQLite recompiles a statement when the schema
  // changes.
  std::vector<std::string> names;
};

// Resets a statement, whatever happens while its rows are read.
class ResetAfterwards {
 public:
  explicit ResetAfterwards(sqlite3_stmt* statement) noexcept : statement_(statement) {}
  ~ResetAfterwards() { ::sqlite3_reset(statement_); }
  ResetAfterwards(const ResetAfterwards&) = delete;
  ResetAfterwards& operator=(const ResetAfterwards&) = delete;

 private:
  sqlite3_stmt* statement_;
};

class SqliteSession final : public Session {
 public:
  SqliteSession(const SqliteOptions& options, const base::Clock& clock) : clock_(clock), options_(options) {
    configure_library();
    const int access = options.is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const std::string uri = options.is_memory ? fmt::format("file:/{}?vfs=memdb", options.path) : real_path(options);
    sqlite3* opened = nullptr;
    const int status =
        ::sqlite3_open_v2(uri.c_str(), &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW,
                          options.vfs.empty() ? nullptr : options.vfs.c_str());
    database_.reset(opened);
    if (status != SQLITE_OK) fail(fmt::format("cannot open {}", base::quoted(options.path)));
    ::sqlite3_extended_result_codes(database_.get(), 1);
    ::sqlite3_busy_timeout(database_.get(), static_cast<int>(options.timeout.count()));
    configure();
    prepared_.resize(sql_texts().size());
    begin_ = make("BEGIN IMMEDIATE");
    commit_ = make("COMMIT");
    rollback_ = make("ROLLBACK");
    data_version_ = make("PRAGMA data_version");
    seen_version_ = read_data_version();
  }

  Engine engine() const noexcept override { return Engine::sqlite; }

  void begin(std::size_t /*units*/) override {
    step_done(begin_.handle.get());
    // Read after acquiring the lock, which may have taken time.
    now_ = clock_.wall_now();
  }
  void commit() override { step_done(commit_.handle.get()); }
  void rollback() noexcept override {
    if (::sqlite3_get_autocommit(database_.get()) != 0) return;
    ::sqlite3_step(rollback_.handle.get());
    ::sqlite3_reset(rollback_.handle.get());
  }
  base::WallTime now() override { return now_; }

  std::optional<std::int64_t> take_number(std::string_view /*table*/) override { return std::nullopt; }

  bool is_pipelined() const noexcept override { return false; }
  Ticket send(Sql statement, Params params) override {
    REEVE_ASSERT(sent_ == nullptr);
    sent_ = bind(statement, params);
    return 0;
  }
  std::int64_t take(Ticket /*ticket*/, const RowReader& read) override {
    sqlite3_stmt* statement = std::exchange(sent_, nullptr);
    REEVE_ASSERT(statement != nullptr);
    return step_all(statement, read);
  }
  void write(Sql statement, Params params, std::int64_t rows) override {
    step_done(bind(statement, params));
    if (::sqlite3_changes64(database_.get()) != rows) throw Conflict{statement};
  }
  void write_any(Sql statement, Params params) override { step_done(bind(statement, params)); }

  std::int64_t changes() const noexcept override { return ::sqlite3_total_changes64(database_.get()); }

  void run_script(const std::string& text) override {
    if (::sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("script");
  }
  std::int64_t query_text(const std::string& text, const RowReader& read) override {
    const Prepared statement = make(text);
    return step_all(statement.handle.get(), read);
  }
  void prepare(Sql statement) override { get(statement); }

  int notice_fd() const noexcept override { return watch_ ? watch_->fd() : -1; }
  bool take_notice() override { return watch_ && watch_->drain(); }
  bool was_changed_outside() override {
    const std::int64_t version = read_data_version();
    return std::exchange(seen_version_, version) != version;
  }

  void rest() noexcept override {
    ::sqlite3_db_release_memory(database_.get());
    // Returns memory from the allocator to the system.
    ::malloc_trim(0);
  }

 private:
  void configure() {
    run_script("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;");
    if (options_.is_memory) return;
    run_script("PRAGMA synchronous = FULL; PRAGMA cache_size = -4096;");
    if (options_.is_read_only) return;
    ::sqlite3_wal_hook(database_.get(), checkpoint, nullptr);
    std::string mode;
    query_text("PRAGMA journal_mode = WAL", [&](const Row& row) { mode = row.text(0); });
    if (mode != "wal") {
      throw base::Error(ErrorCode::store_failed,
                        fmt::format("{} cannot use a write-ahead log", base::quoted(options_.path)),
                        "keep the state folder on a local disk, not on a network file system");
    }
    // The log exists once the file has been read.
    query_text("SELECT count(*) FROM sqlite_schema", [](const Row&) {});
    const std::filesystem::path log = options_.path + "-wal";
    if (std::filesystem::exists(log)) watch_ = std::make_unique<os::WriteWatch>(log);
  }

  // Runs after each commit. SQLite's own checkpoint would ignore a failed fsync of the database and discard the log
  // once a later fsync reports success.
  static int checkpoint(void* /*unused*/, sqlite3* database, const char* name, int pages) {
    // Small enough for short checkpoints, large enough for rare ones.
    constexpr int max_pages = 1'000;
    if (pages < max_pages) return SQLITE_OK;
    const int status = ::sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    if (is_lost_sync(status)) end_process("at a checkpoint");
    // Other errors leave the log as it is; the next commit tries again.
    return SQLITE_OK;
  }

  [[noreturn]] void fail(std::string_view doing) {
    const int extended = ::sqlite3_extended_errcode(database_.get());
    const char* words = ::sqlite3_errmsg(database_.get());
    if (is_lost_sync(extended)) end_process(words);
    const ErrorCode code = code_of(extended, ::sqlite3_system_errno(database_.get()));
    throw base::Error(code, fmt::format("{}: {}", doing, words), fix_of(code));
  }

  Prepared make(std::string_view text) {
    sqlite3_stmt* made = nullptr;
    const int status = ::sqlite3_prepare_v3(database_.get(), text.data(), static_cast<int>(text.size()),
                                            SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    Prepared prepared{StatementHandle(made), {}};
    if (status != SQLITE_OK) fail(text.substr(0, 60));
    for (int i = 1; i <= ::sqlite3_bind_parameter_count(made); ++i) {
      prepared.names.emplace_back(::sqlite3_bind_parameter_name(made, i) + 1);
    }
    return prepared;
  }

  Prepared& get(Sql statement) {
    Prepared& prepared = prepared_[static_cast<std::size_t>(statement)];
    if (!prepared.handle) prepared = make(without_statement_journal(text_of(statement).sqlite));
    return prepared;
  }

  sqlite3_stmt* bind(Sql statement, Params params) {
    Prepared& prepared = get(statement);
    REEVE_ASSERT(params.size() == prepared.names.size());
    std::size_t guess = 0;
    for (const Param& param : params) {
      // Callers mostly pass them in the order of the text.
      std::size_t at = guess++;
      if (prepared.names[at] != param.name) {
        for (at = 0; at < prepared.names.size() && prepared.names[at] != param.name; ++at) {
        }
        REEVE_ASSERT(at < prepared.names.size());
      }
      bind_one(prepared.handle.get(), static_cast<int>(at) + 1, param.value);
    }
    return prepared.handle.get();
  }

  static void bind_one(sqlite3_stmt* statement, int position, const Bind& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value.data())) {
      ::sqlite3_bind_int64(statement, position, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value.data())) {
      if (text->find('\0') != std::string_view::npos) {
        const std::string clean = without_nul(*text);
        ::sqlite3_bind_text64(statement, position, clean.data(), clean.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
      }
      // Borrowed: the statement runs before the caller continues.
      ::sqlite3_bind_text64(statement, position, text->data() != nullptr ? text->data() : "", text->size(), nullptr,
                            SQLITE_UTF8);
    } else {
      ::sqlite3_bind_null(statement, position);
    }
  }

  std::int64_t step_all(sqlite3_stmt* statement, const RowReader& read) {
    const ResetAfterwards reset(statement);
    std::int64_t rows = 0;
    const SqliteRow row(statement);
    while (true) {
      const int status = ::sqlite3_step(statement);
      if (status == SQLITE_DONE) return rows;
      if (status != SQLITE_ROW) fail_at(statement);
      ++rows;
      read(row);
    }
  }

  void step_done(sqlite3_stmt* statement) {
    const int status = ::sqlite3_step(statement);
    if (status != SQLITE_DONE && status != SQLITE_ROW) {
      const ResetAfterwards reset(statement);
      fail_at(statement);
    }
    ::sqlite3_reset(statement);
  }

  [[noreturn]] void fail_at(sqlite3_stmt* statement) {
    const char* text = ::sqlite3_sql(statement);
    fail(std::string_view(text != nullptr ? text : "").substr(0, 60));
  }

  std::int64_t read_data_version() {
    std::int64_t version = 0;
    step_all(data_version_.handle.get(), [&](const Row& row) { version = row.integer(0); });
    return version;
  }

  const base::Clock& clock_;
  SqliteOptions options_;
  DatabaseHandle database_;
  std::vector<Prepared> prepared_;
  Prepared begin_;
  Prepared commit_;
  Prepared rollback_;
  Prepared data_version_;
  sqlite3_stmt* sent_ = nullptr;
  std::int64_t seen_version_ = 0;
  base::WallTime now_;
  std::unique_ptr<os::WriteWatch> watch_;
};

}  // namespace

std::unique_ptr<Session> open_sqlite(const SqliteOptions& options, const base::Clock& clock) {
  return std::make_unique<SqliteSession>(options, clock);
}

}  // namespace reeve::store
