#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A SQLite file of another program: read, never written, and not trusted. Nothing in it is executed: no trigger, view,
// virtual table, generated column or function. A cell may have any type, whatever its column declares.
namespace reeve::store {

struct ForeignValue {
  enum class Kind { null, integer, real, text, blob };
  Kind kind = Kind::null;
  std::int64_t integer = 0;
  double real = 0;
  // The bytes of a text or blob as stored. Valid while the row is being read.
  std::string_view bytes = {};
};

struct ForeignTable {
  std::string name;
  // The stored columns, in order.
  std::vector<std::string> columns;
};

// One row, with the columns of its table.
class ForeignRow {
 public:
  virtual ~ForeignRow() = default;
  virtual const ForeignTable& table() const noexcept = 0;
  virtual ForeignValue value(std::size_t column) const = 0;
};

// Errors: `import.not_found`, `import.unreadable` (a folder, no permission, an interrupted write),
// `import.not_a_database` (or encrypted), `import.damaged`, `import.too_large` (the file, or one row), `import.busy`
// (locked by another program), `import.too_slow`, `import.stopped`.
class ForeignFile {
 public:
  struct Limits {
    std::uintmax_t file_bytes = std::uintmax_t{4} << 30U;
    int row_bytes = 64 << 20;
    std::size_t tables = 1'000;
    std::size_t columns = 200;
    // Total steps of SQLite's virtual machine: bounds the time for a file without the usual indexes.
    std::int64_t steps = 1'000'000'000;
  };

  // `stop` is polled while reading; true aborts. Everything is read from one snapshot.
  ForeignFile(const std::filesystem::path& path, std::function<bool()> stop, const Limits& limits);
  ForeignFile(const std::filesystem::path& path, std::function<bool()> stop);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  // In file order, without SQLite's own tables.
  const std::vector<ForeignTable>& tables() const noexcept;
  // By name, case-insensitive; nullptr if there is none.
  const ForeignTable* find(std::string_view name) const noexcept;
  // Names of objects that are not plain tables: views, virtual tables.
  const std::vector<std::string>& others() const noexcept;

  using Reader = std::function<void(const ForeignRow&)>;
  // Every row in storage order.
  void scan(const ForeignTable& table, const Reader& read);
  // The rows with that value, sorted by the given columns.
  struct Selection {
    std::string column;
    ForeignValue value;
    std::vector<std::string> order = {};
  };
  void scan(const ForeignTable& table, const Selection& selection, const Reader& read);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::store
