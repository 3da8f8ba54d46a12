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
  // Whether it listens for other sessions' writes: the writer does.
  bool listens = false;
  // How long to try to reconnect when the connection is lost during a commit, to determine its outcome.
  base::Milliseconds timeout = std::chrono::seconds(30);
};

// READ COMMITTED, with pipelined statements. A commit whose response is lost is looked up by its transaction id.
std::unique_ptr<Session> open_postgresql(const PostgresqlOptions& options);

// A statement in PostgreSQL's form: `:name` becomes $1, $2 … in order of first appearance.
struct NumberedSql {
  std::string text;
  std::vector<std::string> names;
  // The statement is not a plain SELECT.
  bool changes_rows = false;
};
NumberedSql number_parameters(std::string_view text);

}  // namespace reeve::store
