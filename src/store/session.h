#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/enum.h"
#include "store/sql.h"

// A database connection with the same interface for SQLite and PostgreSQL. Used by one thread at a time.
namespace reeve::store {

enum class Engine { sqlite, postgresql };

// A parameter value: null, an integer or text. Text is borrowed until the call returns.
class Bind {
 public:
  Bind(std::nullptr_t) noexcept {}
  Bind(int value) noexcept : data_(std::int64_t{value}) {}
  Bind(std::uint32_t value) noexcept : data_(std::int64_t{value}) {}
  Bind(std::int64_t value) noexcept : data_(value) {}
  Bind(const char* text) noexcept : data_(std::string_view(text)) {}
  Bind(std::string_view text) noexcept : data_(text) {}
  Bind(const std::string& text) noexcept : data_(std::string_view(text)) {}
  template <base::DescribedEnum E>
  Bind(E value) noexcept : data_(base::spell(value)) {}
  template <class T>
  Bind(const std::optional<T>& value) noexcept {
    if (value) data_ = Bind(*value).data_;
  }
  // Prevents accidental conversion of a bool to a number or text.
  Bind(bool) = delete;

  const auto& data() const noexcept { return data_; }

 private:
  std::variant<std::monostate, std::int64_t, std::string_view> data_;
};

// `:name` in the statement.
struct Param {
  std::string_view name;
  Bind value;
};
using Params = std::span<const Param>;

// One result row, valid while it is being read. Columns count from 0.
class Row {
 public:
  virtual ~Row() = default;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual std::string_view text(int column) const = 0;

  std::optional<std::int64_t> find_integer(int column) const;
  std::optional<std::string> find_text(int column) const;
  base::WallTime time(int column) const;
  std::optional<base::WallTime> find_time(int column) const;
  // Throws `store.damaged` for a value that the enum does not have, which the CHECKs rule out.
  template <base::DescribedEnum E>
  E word(int column) const {
    const auto found = base::find_enum<E>(text(column));
    if (!found) throw_damaged(column);
    return *found;
  }

 private:
  [[noreturn]] void throw_damaged(int column) const;
};

// PostgreSQL text cannot contain NUL: it is replaced by U+FFFD, on both engines.
std::string without_nul(std::string_view text);

using RowReader = std::function<void(const Row&)>;

// A write did not change the expected number of rows: another writer was faster. The store is fine; the unit is rolled
// back and decided again.
struct Conflict {
  Sql statement;
};

// Failures throw base::Error: `store.busy` (locked by another for too long), `store.full` (no space), `store.refused`
// (a CHECK, a key, a trigger), `store.unavailable` (no server), `store.failed` (other). After any of them the
// transaction can only be rolled back. A failed fsync ends the process: the state on disk is then unknown, and only a
// new start can read it.
class Session {
 public:
  virtual ~Session() = default;
  virtual Engine engine() const noexcept = 0;

  // Begins a write transaction; `units` is the number of units that will share it.
  virtual void begin(std::size_t units = 1) = 0;
  // Returns when the transaction is durable. Throws Conflict, and commits nothing, if a write did not find what it
  // expected.
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  // The clock for leases: the database's own if machines share it. Constant within a transaction.
  virtual base::WallTime now() = 0;

  // Whether statements are pipelined, so that sending early and taking late saves time.
  virtual bool is_pipelined() const noexcept = 0;
  using Ticket = std::uint64_t;
  virtual Ticket send(Sql statement, Params params) = 0;
  // Takes each ticket once, in any order, also after the commit. Returns the number of rows; -1 if the connection was
  // lost and restored during the commit, and the result with it.
  virtual std::int64_t take(Ticket ticket, const RowReader& read) = 0;
  // Must change exactly `rows` rows; otherwise Conflict is thrown here or at the latest by commit().
  virtual void write(Sql statement, Params params, std::int64_t rows) = 0;
  // Changes any number of rows. Failures are reported by commit() at the latest.
  virtual void write_any(Sql statement, Params params) = 0;

  // Increases with every statement that may change a row.
  virtual std::int64_t changes() const noexcept = 0;

  // Runs several statements: for migrations and tests.
  virtual void run_script(const std::string& text) = 0;
  // Runs any statement without parameters: for migrations and tests.
  virtual std::int64_t query_text(const std::string& text, const RowReader& read) = 0;
  // Throws the engine's error if the statement cannot be prepared.
  virtual void prepare(Sql statement) = 0;

  // A descriptor that becomes readable when another program may have written; -1 if there is none.
  virtual int notice_fd() const noexcept = 0;
  // Consumes the notice. True: a write was begun or committed, so check now and a few times more.
  virtual bool take_notice() = 0;
  // Whether another session has committed since the last call.
  virtual bool was_changed_outside() = 0;

  // The session is idle: frees memory that only serves speed.
  virtual void rest() noexcept {}

  std::int64_t query(Sql statement, std::initializer_list<Param> params, const RowReader& read);
  std::int64_t query(Sql statement, Params params, const RowReader& read) {
    return take(send(statement, params), read);
  }
  void write(Sql statement, std::initializer_list<Param> params, std::int64_t rows = 1) {
    write(statement, Params(params.begin(), params.size()), rows);
  }
  void write_any(Sql statement, std::initializer_list<Param> params) {
    write_any(statement, Params(params.begin(), params.size()));
  }
  // The number for a new row: reserved in advance if that saves waiting; nothing if the database assigns it.
  virtual std::optional<std::int64_t> take_number(std::string_view table) = 0;
  // Runs an INSERT with the parameter `number` and returns that number.
  std::int64_t insert(Sql statement, std::string_view table, std::initializer_list<Param> params);
  // The number returned by a statement.
  std::int64_t query_number(Sql statement, std::initializer_list<Param> params);
};

}  // namespace reeve::store
