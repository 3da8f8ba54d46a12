#include "store/store.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "store/postgresql.h"
#include "store/sqlite.h"

namespace reeve::store {

std::optional<Place> parse_place(std::string_view text, const std::string& state_folder) {
  constexpr std::string_view with_path = "sqlite:";
  if (text.empty() || text == "sqlite") return Place{Place::Kind::file, state_folder + "/reeve.db"};
  if (text == ":memory:") return Place{Place::Kind::memory, "reeve"};
  if (text.starts_with("postgresql://") || text.starts_with("postgres://")) {
    return Place{Place::Kind::postgresql, std::string(text)};
  }
  if (text.starts_with(with_path) && text.size() > with_path.size()) {
    return Place{Place::Kind::file, std::string(text.substr(with_path.size()))};
  }
  return std::nullopt;
}

namespace {

std::unique_ptr<Session> open(const Place& place, const base::Clock& clock, const OpenOptions& options,
                              bool is_read_only) {
  if (place.kind == Place::Kind::postgresql) {
    return open_postgresql(
        {.url = place.where, .is_read_only = is_read_only, .listens = !is_read_only, .timeout = options.timeout});
  }
  return open_sqlite({.path = place.where,
                      .is_memory = place.kind == Place::Kind::memory,
                      .is_read_only = is_read_only,
                      .timeout = options.timeout,
                      .vfs = options.vfs},
                     clock);
}

constexpr const char* migrations_table = R"(
  CREATE TABLE IF NOT EXISTS schema_migrations (version {} PRIMARY KEY, applied_at {} NOT NULL)
)";

int read_version(Session& session) {
  std::int64_t version = 0;
  session.query_text("SELECT COALESCE(max(version), 0) FROM schema_migrations",
                     [&](const Row& row) { version = row.integer(0); });
  return static_cast<int>(version);
}

// The migration that follows the version, if it is one up to `target`. Numbers increase, possibly with gaps.
const Migration* find_next(int version, int target) {
  const auto next = std::ranges::upper_bound(migrations(), version, {}, &Migration::number);
  return next != migrations().end() && next->number <= target ? &*next : nullptr;
}

// Runs the migration that follows the database's version, in a new database all of them; returns whether there may be
// more.
bool migrate_once(Session& session, int target) {
  const bool is_sqlite = session.engine() == Engine::sqlite;
  session.begin();
  // If two daemons start at once, the second waits and then finds the migration done.
  if (!is_sqlite) session.run_script("SELECT pg_advisory_xact_lock(7236577)");
  session.run_script(fmt::format(migrations_table, is_sqlite ? "INTEGER" : "bigint", is_sqlite ? "TEXT" : "text"));
  int version = read_version(session);
  if (version > newest_schema()) {
    throw base::Error(
        base::ErrorCode::store_newer,
        fmt::format("the database has schema {}; this program supports up to {}", version, newest_schema()),
        "use the newer Reeve that wrote it");
  }
  // PostgreSQL cannot use a new value of an enum in the transaction that adds it.
  const bool is_new = version == 0 && is_sqlite;
  const Migration* step = find_next(version, target);
  bool has_more = step != nullptr;
  while (step != nullptr) {
    session.run_script(std::string(is_sqlite ? step->sqlite : step->postgresql));
    session.run_script(fmt::format("INSERT INTO schema_migrations (version, applied_at) VALUES ({}, '{}')",
                                   step->number, base::format_time(session.now())));
    version = step->number;
    // Each commit waits for the disk, and a new database has nothing to lose.
    step = is_new ? find_next(version, target) : nullptr;
    has_more = !is_new;
  }
  session.commit();
  return has_more;
}

}  // namespace

std::unique_ptr<Session> open_writer(const Place& place, const base::Clock& clock, const OpenOptions& options) {
  std::unique_ptr<Session> session = open(place, clock, options, false);
  migrate(*session);
  return session;
}

std::unique_ptr<Session> open_reader(const Place& place, const base::Clock& clock, const OpenOptions& options) {
  return open(place, clock, options, true);
}

int newest_schema() noexcept { return migrations().back().number; }

void migrate(Session& session, int target) {
  try {
    while (migrate_once(session, target)) {
    }
  } catch (...) {
    session.rollback();
    throw;
  }
}

}  // namespace reeve::store
