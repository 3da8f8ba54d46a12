#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A SQLite file of another program: read, never written, and not trusted. Nothing in it is run: no trigger, no view, no
// virtual table, no generated column, no function. What is in a cell may be of any type, whatever its column says.
namespace reeve::store {

struct ForeignValue {
  enum class Kind { null, integer, real, text, blob };
  Kind kind = Kind::null;
  std::int64_t integer = 0;
  double real = 0;
  // Of a text or blob, as they are in the file. Borrowed while the row is shown.
  std::string_view bytes = {};
};

struct ForeignTable {
  std::string name;
  // Those that are stored, in their order.
  std::vector<std::string> columns;
};

// One row, with the columns of its table.
class ForeignRow {
 public:
  virtual ~ForeignRow() = default;
  virtual const ForeignTable& table() const noexcept = 0;
  virtual ForeignValue value(std::size_t column) const = 0;
};

// Errors: `import.not_found`, `import.unreadable` (a folder, no permission, in the middle of a write),
// `import.not_a_database` (or encrypted), `import.damaged`, `import.too_large` (the file, or one row), `import.busy`
// (another program holds it), `import.too_slow`, `import.stopped`.
class ForeignFile {
 public:
  struct Limits {
    std::uintmax_t file_bytes = std::uintmax_t{4} << 30U;
    int row_bytes = 64 << 20;
    std::size_t tables = 1'000;
    std::size_t columns = 200;
    // Of SQLite's machine, in all: a file without the usual indexes is slow, not endless.
    std::int64_t steps = 1'000'000'000;
  };

  // `stop` is asked now and then while it reads; true ends that. Everything that is read is of one moment.
  ForeignFile(const std::filesystem::path& path, std::function<bool()> stop, const Limits& limits);
  ForeignFile(const std::filesystem::path& path, std::function<bool()> stop);
  ~ForeignFile();
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  // In the order of the file; those of SQLite itself are left out.
  const std::vector<ForeignTable>& tables() const noexcept;
  // By its name in any case; nullptr for none.
  const ForeignTable* find(std::string_view name) const noexcept;
  // What has a name and is no plain table: a view, a virtual table.
  const std::vector<std::string>& others() const noexcept;

  using Reader = std::function<void(const ForeignRow&)>;
  // Every row in the order in which they lie there.
  void scan(const ForeignTable& table, const Reader& read);
  // Those with that value, sorted by the columns named.
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
