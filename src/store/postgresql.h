#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/session.h"

namespace reeve::store {

struct PostgresqlOptions {
  // postgresql://user@host/database, or libpq's "host=… dbname=…".
  std::string url;
  bool is_read_only = false;
  // Whether it listens for what others write: the writer does.
  bool listens = false;
  // How long to look for the server again when it went away at a commit whose fate must be known.
  base::Milliseconds patience = std::chrono::seconds(30);
};

// READ COMMITTED, statements in a pipeline. A commit whose answer is lost is looked up by its transaction id.
std::unique_ptr<Session> open_postgresql(const PostgresqlOptions& options);

// A statement as PostgreSQL takes it: `:name` becomes $1, $2 … in the order of first appearance.
struct NumberedSql {
  std::string text;
  std::vector<std::string> names;
  // It is no plain SELECT.
  bool changes_rows = false;
};
NumberedSql number_parameters(std::string_view text);

}  // namespace reeve::store
