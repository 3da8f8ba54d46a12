#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "store/foreign_file.h"

// Cells of somebody else's rows as values of ours (STO-2): bounded, well-formed, times in UTC.
namespace reeve::server {

// Where a table has what is looked for; nothing when it has no such column.
using Column = std::optional<std::size_t>;

// The columns of a table by the names that the seeds have for them.
class Columns {
 public:
  explicit Columns(const store::ForeignTable& table);
  // The first of the names that the table has, in any case.
  Column pick(std::initializer_list<std::string_view> names);
  // Those that nobody asked for.
  std::vector<std::string> unused() const;

 private:
  const store::ForeignTable& table_;
  std::vector<bool> is_used_;
};

// Any of: ISO 8601 with a `T` or a blank, with or without a fraction and a zone (none: UTC); a day alone; seconds since
// 1970, whole or with a fraction; milliseconds since 1970. Nothing for what is none, and for what is not between 1970
// and 9999.
std::optional<base::WallTime> parse_old_time(const store::ForeignValue& value);

// Longer texts are cut at that many bytes, and end with "…".
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

  // Numbers as their digits; bytes that are no UTF-8 as U+FFFD, NUL too. Nothing for NULL.
  std::optional<std::string> text(Column column, std::size_t longest = longest_old_text) const;
  // The same on one line, blanks at its ends cut; nothing also for an empty one.
  std::optional<std::string> name(Column column, std::size_t longest = longest_old_id) const;
  // A name by which other rows refer to it: nothing when it has none, or one that is too long.
  std::optional<std::string> id(Column column) const;
  std::optional<std::int64_t> integer(Column column) const;
  // `odd` counts cells that have something and are no time.
  std::optional<base::WallTime> time(Column column, std::int64_t& odd) const;
  // What is no JSON, or too deep, is a string. Nothing for NULL and for what is too long.
  std::optional<base::Value> json(Column column) const;
  // The same as an object: what is none is its member `value`.
  std::optional<base::Value> object(Column column) const;

 private:
  const store::ForeignRow& row_;
};

}  // namespace reeve::server
