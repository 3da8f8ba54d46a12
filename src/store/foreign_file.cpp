#include "store/foreign_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/error.h"
#include "base/text.h"
#include "os/fd.h"

namespace reeve::store {

namespace {

using base::Error;
using base::ErrorCode;
namespace fs = std::filesystem;

struct CloseDatabase {
  void operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

constexpr std::string_view magic("SQLite format 3\0", 16);
// The header's write version; 2 means a write-ahead log.
constexpr std::size_t write_version = 18;
constexpr std::size_t header_bytes = 100;
constexpr int wal_version = 2;
// How many steps of SQLite's virtual machine run between two checks for a stop.
constexpr int steps_between = 10'000;
constexpr int lock_timeout_ms = 5'000;

std::string quote_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

// Encodes a path for a URI.
std::string encode_path(const std::string& path) {
  std::string encoded;
  for (const char c : path) {
    const bool is_plain = base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::strchr("/-_.~", c) != nullptr;
    if (is_plain && c != '\0') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string shown(const fs::path& path) { return base::quoted(path.string()); }

bool is_in_wal_mode(std::string_view header) {
  return header.size() > write_version && header[write_version] == wal_version;
}

// Reads the header of a regular file.
std::string read_header(const fs::path& path, std::uintmax_t most) {
  // Does not block on a pipe.
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) {
    throw Error(ErrorCode::import_not_found, fmt::format("there is no file {}", shown(path)));
  }
  if (!file) base::throw_errno(ErrorCode::import_unreadable, fmt::format("cannot read {}", shown(path)), errno);
  struct stat about{};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw Error(ErrorCode::import_unreadable, fmt::format("{} is not a regular file", shown(path)),
                "give the path of the database file");
  }
  if (static_cast<std::uintmax_t>(about.st_size) > most) {
    throw Error(ErrorCode::import_too_large,
                fmt::format("{} has {} bytes; the limit is {}", shown(path), about.st_size, most));
  }
  std::string header(header_bytes, '\0');
  const ssize_t got = ::read(file.get(), header.data(), header.size());
  header.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (header.size() < header_bytes || !std::string_view(header).starts_with(magic)) {
    throw Error(ErrorCode::import_not_a_database,
                header.empty() ? fmt::format("{} is empty", shown(path))
                               : fmt::format("{} is not a SQLite database, or it is encrypted", shown(path)),
                "give the path of the database file; if it is encrypted, decrypt it with the program that made it");
  }
  return header;
}

// Allows only what plain reading needs.
int authorize(void* /*unused*/, int action, const char* first, const char* /*second*/, const char* /*database*/,
              const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_TRANSACTION:
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return ::sqlite3_stricmp(first, "table_xinfo") == 0 ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

class StatementRow final : public ForeignRow {
 public:
  StatementRow(const ForeignTable& table, sqlite3_stmt* statement) noexcept : table_(table), statement_(statement) {}
  const ForeignTable& table() const noexcept override { return table_; }
  ForeignValue value(std::size_t column) const override {
    const int at = static_cast<int>(column);
    switch (::sqlite3_column_type(statement_, at)) {
      case SQLITE_INTEGER:
        return {.kind = ForeignValue::Kind::integer, .integer = ::sqlite3_column_int64(statement_, at)};
      case SQLITE_FLOAT:
        return {.kind = ForeignValue::Kind::real, .real = ::sqlite3_column_double(statement_, at)};
      case SQLITE_TEXT:
        return {.kind = ForeignValue::Kind::text, .bytes = bytes(::sqlite3_column_text(statement_, at), at)};
      case SQLITE_BLOB:
        return {.kind = ForeignValue::Kind::blob, .bytes = bytes(::sqlite3_column_blob(statement_, at), at)};
      default:
        return {};
    }
  }

 private:
  std::string_view bytes(const void* start, int at) const {
    if (start == nullptr) return {};
    return {static_cast<const char*>(start), static_cast<std::size_t>(::sqlite3_column_bytes(statement_, at))};
  }

  const ForeignTable& table_;
  sqlite3_stmt* statement_;
};

}  // namespace

class ForeignFile::Core {
 public:
  Core(const fs::path& path, std::function<bool()> stop, const Limits& limits)
      : path_(path), stop_(std::move(stop)), limits_(limits) {
    const std::string header = read_header(path, limits.file_bytes);
    // A log in use is next to the file; without one there is no writer, and reading must not create one.
    std::error_code error;
    const auto log_bytes = fs::file_size(path.string() + "-wal", error);
    const bool has_log = !error && log_bytes > 0;
    const bool is_still = is_in_wal_mode(header) && !has_log;
    const std::string uri =
        fmt::format("file:{}?mode=ro{}", encode_path(path.string()), is_still ? "&immutable=1" : "");
    sqlite3* opened = nullptr;
    const int status =
        ::sqlite3_open_v2(uri.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(opened);
    if (status != SQLITE_OK) fail();
    harden();
    // Everything is read from one snapshot.
    run("BEGIN");
    read_tables();
  }

  void scan(const ForeignTable& table, const std::string& text, const ForeignValue* bound, const Reader& read) {
    const StatementHandle statement = prepare(text);
    if (bound != nullptr) bind(statement.get(), *bound);
    const StatementRow row(table, statement.get());
    while (step(statement.get())) read(row);
  }

  std::string select(const ForeignTable& table) const {
    std::string text = "SELECT ";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      text += fmt::format("{}{}", i > 0 ? ", " : "", quote_name(table.columns[i]));
    }
    return text + " FROM main." + quote_name(table.name);
  }

  std::vector<ForeignTable> tables;
  std::vector<std::string> others;

 private:
  void harden() {
    sqlite3* database = database_.get();
    ::sqlite3_extended_result_codes(database, 1);
    ::sqlite3_busy_timeout(database, lock_timeout_ms);
    for (const auto& [name, value] : std::to_array<std::pair<int, int>>({{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                                         {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                                         {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                                         {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                                                         {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                                                         {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}})) {
      ::sqlite3_db_config(database, name, value, nullptr);
    }
    constexpr int max_sql = 1 << 20;
    for (const auto& [name, value] : std::to_array<std::pair<int, int>>({{SQLITE_LIMIT_LENGTH, limits_.row_bytes},
                                                                         {SQLITE_LIMIT_SQL_LENGTH, max_sql},
                                                                         {SQLITE_LIMIT_ATTACHED, 0},
                                                                         {SQLITE_LIMIT_EXPR_DEPTH, 100},
                                                                         {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
                                                                         {SQLITE_LIMIT_WORKER_THREADS, 0}})) {
      ::sqlite3_limit(database, name, value);
    }
    // Detects damaged pages, and maps no memory from a file that may be truncated.
    run("PRAGMA cell_size_check = ON");
    run("PRAGMA mmap_size = 0");
    run("PRAGMA query_only = ON");
    ::sqlite3_progress_handler(database, steps_between, is_over, this);
    ::sqlite3_set_authorizer(database, authorize, nullptr);
  }

  // Nonzero aborts the current statement.
  static int is_over(void* self) {
    auto& core = *static_cast<Core*>(self);
    core.steps_ += steps_between;
    core.is_stopped_ = core.stop_ && core.stop_();
    return core.is_stopped_ || core.steps_ > core.limits_.steps ? 1 : 0;
  }

  void read_tables() {
    std::vector<std::string> names;
    const StatementHandle statement = prepare("SELECT name, type, rootpage FROM sqlite_schema");
    while (step(statement.get())) {
      const std::string name = text_of(statement.get(), 0);
      const std::string type = text_of(statement.get(), 1);
      if ((type != "table" && type != "view") || name.starts_with("sqlite_")) continue;
      if (names.size() + others.size() >= limits_.tables) {
        throw Error(ErrorCode::import_too_large,
                    fmt::format("{} has more than {} tables", shown(path_), limits_.tables));
      }
      // A virtual table has no root page.
      const bool is_plain = type == "table" && ::sqlite3_column_int64(statement.get(), 2) > 0;
      (is_plain ? names : others).push_back(name);
    }
    for (const std::string& name : names) {
      if (auto table = read_table(name); !table.columns.empty()) tables.push_back(std::move(table));
    }
  }

  ForeignTable read_table(const std::string& name) {
    constexpr int hidden_column = 6;
    ForeignTable table{.name = name, .columns = {}};
    const StatementHandle statement = prepare(fmt::format("PRAGMA main.table_xinfo({})", quote_name(name)));
    while (step(statement.get())) {
      // A generated column would have to be computed.
      if (::sqlite3_column_int64(statement.get(), hidden_column) != 0) continue;
      if (table.columns.size() < limits_.columns) table.columns.push_back(text_of(statement.get(), 1));
    }
    return table;
  }

  static std::string text_of(sqlite3_stmt* statement, int column) {
    const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(statement, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(::sqlite3_column_bytes(statement, column))};
  }

  static void bind(sqlite3_stmt* statement, const ForeignValue& value) {
    const auto size = static_cast<sqlite3_uint64>(value.bytes.size());
    const char* bytes = value.bytes.data() != nullptr ? value.bytes.data() : "";
    switch (value.kind) {
      case ForeignValue::Kind::null:
        ::sqlite3_bind_null(statement, 1);
        return;
      case ForeignValue::Kind::integer:
        ::sqlite3_bind_int64(statement, 1, value.integer);
        return;
      case ForeignValue::Kind::real:
        ::sqlite3_bind_double(statement, 1, value.real);
        return;
      case ForeignValue::Kind::text:
        ::sqlite3_bind_text64(statement, 1, bytes, size, SQLITE_TRANSIENT, SQLITE_UTF8);
        return;
      case ForeignValue::Kind::blob:
        ::sqlite3_bind_blob64(statement, 1, bytes, size, SQLITE_TRANSIENT);
        return;
    }
  }

  void run(const char* text) {
    if (::sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

  StatementHandle prepare(const std::string& text) {
    sqlite3_stmt* made = nullptr;
    const int status =
        ::sqlite3_prepare_v2(database_.get(), text.data(), static_cast<int>(text.size()), &made, nullptr);
    StatementHandle handle(made);
    if (status != SQLITE_OK) fail();
    return handle;
  }

  bool step(sqlite3_stmt* statement) {
    const int status = ::sqlite3_step(statement);
    if (status == SQLITE_ROW) return true;
    if (status != SQLITE_DONE) fail();
    return false;
  }

  [[noreturn]] void fail() {
    const int extended = ::sqlite3_extended_errcode(database_.get());
    const std::string words = fmt::format("{}: {}", shown(path_), ::sqlite3_errmsg(database_.get()));
    switch (extended & 0xff) {
      case SQLITE_NOTADB:
        throw Error(ErrorCode::import_not_a_database,
                    fmt::format("{} is not a SQLite database, or it is encrypted", shown(path_)),
                    "if it is encrypted, decrypt it with the program that made it");
      case SQLITE_CORRUPT:
        throw Error(ErrorCode::import_damaged, words,
                    "`sqlite3 OLD.db .recover | sqlite3 NEW.db` recovers what can be read; import the result");
      case SQLITE_TOOBIG:
        throw Error(ErrorCode::import_too_large,
                    fmt::format("{} has a row of more than {} bytes", shown(path_), limits_.row_bytes));
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw Error(ErrorCode::import_busy, words, "stop the program that uses it and try again");
      case SQLITE_INTERRUPT:
        if (is_stopped_) throw Error(ErrorCode::import_stopped, "the daemon is shutting down; nothing was imported");
        throw Error(ErrorCode::import_too_slow,
                    fmt::format("{} takes too long to read: it has no indexes", shown(path_)),
                    "create indexes on the columns execution_id, pipeline_id and id");
      default:
        throw Error(ErrorCode::import_unreadable, words,
                    "if a write to it was interrupted, open it once with its own program or with sqlite3");
    }
  }

  fs::path path_;
  std::function<bool()> stop_;
  Limits limits_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::int64_t steps_ = 0;
  bool is_stopped_ = false;
};

ForeignFile::ForeignFile(const fs::path& path, std::function<bool()> stop, const Limits& limits)
    : core_(std::make_unique<Core>(path, std::move(stop), limits)) {}
ForeignFile::ForeignFile(const fs::path& path, std::function<bool()> stop)
    : ForeignFile(path, std::move(stop), Limits()) {}
ForeignFile::~ForeignFile() = default;

const std::vector<ForeignTable>& ForeignFile::tables() const noexcept { return core_->tables; }
const std::vector<std::string>& ForeignFile::others() const noexcept { return core_->others; }

const ForeignTable* ForeignFile::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(core_->tables, [&](const ForeignTable& table) {
    return ::sqlite3_stricmp(table.name.c_str(), std::string(name).c_str()) == 0;
  });
  return found != core_->tables.end() ? &*found : nullptr;
}

void ForeignFile::scan(const ForeignTable& table, const Reader& read) {
  core_->scan(table, core_->select(table), nullptr, read);
}

void ForeignFile::scan(const ForeignTable& table, const Selection& selection, const Reader& read) {
  std::string text = fmt::format("{} WHERE {} = ?1", core_->select(table), quote_name(selection.column));
  for (std::size_t i = 0; i < selection.order.size(); ++i) {
    text += fmt::format("{}{} COLLATE BINARY", i == 0 ? " ORDER BY " : ", ", quote_name(selection.order[i]));
  }
  core_->scan(table, text, &selection.value, read);
}

}  // namespace reeve::store
