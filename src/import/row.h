#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "store/foreign_file.h"

// Converts cells of a foreign database to values (STO-2): bounded, well-formed, times in UTC.
namespace reeve::import {

// The index of a column; nothing if the table does not have it.
using Column = std::optional<std::size_t>;

// The columns of a table, found by the names that the seeds use.
class Columns {
 public:
  explicit Columns(const store::ForeignTable& table);
  // The first of the names that the table has, ignoring case.
  Column pick(std::initializer_list<std::string_view> names);
  // The columns that were not picked.
  std::vector<std::string> unused() const;

 private:
  const store::ForeignTable& table_;
  std::vector<bool> is_used_;
};

// Accepts ISO 8601 with a `T` or a space, with or without a fraction and a zone (default UTC); a date; seconds since
// 1970, whole or with a fraction; milliseconds since 1970. Nothing for anything else, and for times outside 1970 to
// 9999.
std::optional<base::WallTime> parse_old_time(const store::ForeignValue& value);

// Longer texts are cut to that many bytes and end with "…".
inline constexpr std::size_t longest_old_text = std::size_t{64} << 10U;
inline constexpr std::size_t longest_old_id = 255;
inline constexpr std::size_t longest_old_json = std::size_t{1} << 20U;
inline constexpr std::size_t longest_old_diff = std::size_t{16} << 20U;

class OldRow {
 public:
  explicit OldRow(const store::ForeignRow& row) noexcept : row_(row) {}

  store::ForeignValue value(Column column) const;
  bool is_null(Column column) const { return value(column).kind == store::ForeignValue::Kind::null; }
  std::size_t bytes(Column column) const { return value(column).bytes.size(); }

  // Numbers as digits; invalid UTF-8 and NUL as U+FFFD. Nothing for NULL.
  std::optional<std::string> text(Column column, std::size_t longest = longest_old_text) const;
  // The same on one line and trimmed; nothing if empty.
  std::optional<std::string> name(Column column, std::size_t longest = longest_old_id) const;
  // An id that other rows refer to; nothing if it is missing or too long.
  std::optional<std::string> id(Column column) const;
  std::optional<std::int64_t> integer(Column column) const;
  // `odd` counts non-empty cells that are not a time.
  std::optional<base::WallTime> time(Column column, std::int64_t& odd) const;
  // A value that is not JSON, or nested too deeply, becomes a string. Nothing for NULL and for values that are too
  // long.
  std::optional<base::Value> json(Column column) const;
  // The same as an object: any other value becomes its member `value`.
  std::optional<base::Value> object(Column column) const;

 private:
  const store::ForeignRow& row_;
};

}  // namespace reeve::import
