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

// One connection to a database, the same for SQLite and PostgreSQL. A session belongs to one thread at a time.
namespace reeve::store {

enum class Engine { sqlite, postgresql };

// A value for a parameter: nothing, a whole number or text. Text is borrowed until the call returns.
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
  // A bool is neither a number nor text by accident.
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

// One row of an answer, valid while it is shown. Columns count from 0.
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
  // Throws `store.damaged` for a word that is none of the enum's: the CHECKs let none in.
  template <base::DescribedEnum E>
  E word(int column) const {
    const auto found = base::find_enum<E>(text(column));
    if (!found) throw_damaged(column);
    return *found;
  }

 private:
  [[noreturn]] void throw_damaged(int column) const;
};

// A NUL cannot be in a text of PostgreSQL: U+FFFD stands for it, on both engines.
std::string without_nul(std::string_view text);

using RowReader = std::function<void(const Row&)>;

// A write changed another number of rows than it must: somebody was faster. Nothing is wrong with the store; the unit
// is undone and decided again.
struct Conflict {
  Sql statement;
};

// Failures throw base::Error: `store.busy` (locked by another for too long), `store.full` (no space), `store.refused`
// (a CHECK, a key, a trigger), `store.unavailable` (the server is gone), `store.failed` (the rest). After any of them
// the transaction can only be rolled back. An fsync that fails ends the process: what is on disk is then unknown, and
// only a new start reads the truth.
class Session {
 public:
  virtual ~Session() = default;
  virtual Engine engine() const noexcept = 0;

  // A transaction that will write; `units` tells how many pieces of work will share it.
  virtual void begin(std::size_t units = 1) = 0;
  // Returns when it is durable. Throws Conflict, and nothing is committed, when a write did not find what it expected.
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  // The time that leases count by: the database's own where many machines share it. The same for a whole transaction.
  virtual base::WallTime now() = 0;

  // Whether statements can travel together, so that sending early and taking late saves time.
  virtual bool is_pipelined() const noexcept = 0;
  using Ticket = std::uint64_t;
  virtual Ticket send(Sql statement, Params params) = 0;
  // Each ticket once, in any order, also after the commit. Returns how many rows there were; -1 when the connection was
  // lost and found again while committing, and with it the answer.
  virtual std::int64_t take(Ticket ticket, const RowReader& read) = 0;
  // Must change exactly `rows` rows; when it did not, Conflict is thrown here or at the latest by commit().
  virtual void write(Sql statement, Params params, std::int64_t rows) = 0;
  // Changes as many rows as there are. Told by commit() at the latest when it fails.
  virtual void write_any(Sql statement, Params params) = 0;

  // Grows with every statement that may change a row.
  virtual std::int64_t changes() const noexcept = 0;

  // A text of several statements: migrations and tests.
  virtual void run_script(const std::string& text) = 0;
  // Any statement without parameters: migrations and tests.
  virtual std::int64_t query_text(const std::string& text, const RowReader& read) = 0;
  // Whether the statement can be prepared; throws what the engine says when not.
  virtual void prepare(Sql statement) = 0;

  // A descriptor that becomes readable when another program may have written; -1 when there is none.
  virtual int notice_fd() const noexcept = 0;
  // Takes what is to be read there. True: look now and again a few times, a write was begun or committed.
  virtual bool take_notice() = 0;
  // Whether anybody but this session has committed since the last call.
  virtual bool was_changed_outside() = 0;

  // Nothing was asked of it for a while: gives back the memory that only makes it faster.
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
  // The number of a new row: given beforehand where that saves waiting, else nothing, and the database counts.
  virtual std::optional<std::int64_t> take_number(std::string_view table) = 0;
  // An INSERT with the parameter `number`, which it returns.
  std::int64_t insert(Sql statement, std::string_view table, std::initializer_list<Param> params);
  // The number that a statement gives.
  std::int64_t query_number(Sql statement, std::initializer_list<Param> params);
};

}  // namespace reeve::store
