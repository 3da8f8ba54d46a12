#include "store/session.h"

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::store {

std::optional<std::int64_t> Row::find_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<std::string> Row::find_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional<std::string>(text(column));
}

base::WallTime Row::time(int column) const {
  const auto time = base::parse_time(text(column));
  if (!time) throw_damaged(column);
  return *time;
}

std::optional<base::WallTime> Row::find_time(int column) const {
  return is_null(column) ? std::nullopt : std::optional(time(column));
}

void Row::throw_damaged(int column) const {
  throw base::Error(base::ErrorCode::store_damaged,
                    fmt::format("column {} holds an invalid value: {}", column, base::quoted(text(column))),
                    "the database was changed by another program; restore it from a backup");
}

std::string without_nul(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (const char c : text) {
    if (c == '\0') {
      clean += "\xef\xbf\xbd";
    } else {
      clean += c;
    }
  }
  return clean;
}

std::int64_t Session::query(Sql statement, std::initializer_list<Param> params, const RowReader& read) {
  return query(statement, Params(params.begin(), params.size()), read);
}

std::int64_t Session::insert(Sql statement, std::string_view table, std::initializer_list<Param> params) {
  const std::optional<std::int64_t> given = take_number(table);
  std::vector<Param> all;
  all.reserve(params.size() + 1);
  all.push_back({"number", given});
  all.insert(all.end(), params.begin(), params.end());
  if (given) {
    write_any(statement, all);
    return *given;
  }
  std::int64_t number = 0;
  query(statement, Params(all), [&](const Row& row) { number = row.integer(0); });
  return number;
}

std::int64_t Session::query_number(Sql statement, std::initializer_list<Param> params) {
  std::int64_t number = 0;
  query(statement, params, [&](const Row& row) { number = row.integer(0); });
  return number;
}

}  // namespace reeve::store
