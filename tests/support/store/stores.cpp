#include "tests/support/store/stores.h"

#include <atomic>
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "store/postgresql.h"
#include "store/sqlite.h"
#include "tests/support/program.h"

namespace reeve::testing {

namespace {

void run_script(const std::string& command, const std::filesystem::path& folder, const std::vector<std::string>& more) {
  std::vector<std::string> argv = {(source_folder() / "tests/support/store/postgresql").string(), command,
                                   folder.string()};
  argv.insert(argv.end(), more.begin(), more.end());
  const Outcome outcome = run_program({.argv = argv, .environment = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}}});
  if (outcome.code != 0) throw std::runtime_error("postgresql " + command + ": " + outcome.err);
}

}  // namespace

PostgresqlServer& PostgresqlServer::shared() {
  static PostgresqlServer server;
  return server;
}

PostgresqlServer::PostgresqlServer() {
  const char* given = std::getenv("REEVE_TEST_POSTGRESQL");
  if (given != nullptr && std::filesystem::exists(std::filesystem::path(given) / "data/postmaster.pid")) {
    folder_ = given;
    return;
  }
  start("shared");
}

PostgresqlServer::PostgresqlServer(const std::string& name) { start(name); }

void PostgresqlServer::start(const std::string& name) {
  folder_ = fmt::format("/tmp/reeve-postgresql-{}-{}", name, ::getpid());
  is_ours_ = true;
  // Only tests that inject disk faults need fsync.
  run_script("start", folder_, {"fsync=off"});
}

PostgresqlServer::~PostgresqlServer() {
  if (!is_ours_) return;
  try {
    run_script("stop", folder_, {});
  } catch (const std::exception&) {
    // Left for the next run to clean.
  }
}

void PostgresqlServer::restart() { run_script("restart", folder_, {}); }

std::string PostgresqlServer::create_database() {
  static std::atomic<int> count = 0;
  // Databases stay until the server stops, and process ids come again.
  const std::string name = fmt::format("t_{}_{}_{}", ::getpid(), ++count, base::random_hex(4));
  const auto address = [&](const std::string& database) {
    return fmt::format("postgresql:///{}?host={}&user=reeve", database, folder_.string());
  };
  store::open_postgresql({.url = address("postgres")})->run_script("CREATE DATABASE " + name);
  return address(name);
}

TestStore::TestStore(store::Place::Kind kind) {
  static std::atomic<int> count = 0;
  place_.kind = kind;
  switch (kind) {
    case store::Place::Kind::file:
      place_.where = (scratch_.path() / "reeve.db").string();
      break;
    case store::Place::Kind::memory:
      place_.where = fmt::format("test-{}", ++count);
      break;
    case store::Place::Kind::postgresql:
      place_.where = PostgresqlServer::shared().create_database();
      break;
  }
}

std::unique_ptr<store::Session> TestStore::open_writer(const store::OpenOptions& options) const {
  return store::open_writer(place_, clock_, options);
}

std::unique_ptr<store::Session> TestStore::open_reader() const { return store::open_reader(place_, clock_); }

std::unique_ptr<store::Session> TestStore::open_bare() const {
  if (is_postgresql()) return store::open_postgresql({.url = place_.where});
  return store::open_sqlite({.path = place_.where, .is_memory = place_.kind == store::Place::Kind::memory}, clock_);
}

std::string kind_name(store::Place::Kind kind) {
  switch (kind) {
    case store::Place::Kind::file:
      return "file";
    case store::Place::Kind::memory:
      return "memory";
    case store::Place::Kind::postgresql:
      return "postgresql";
  }
  return "?";
}

std::string code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const base::Error& error) {
    return error.code();
  } catch (const store::Conflict&) {
    return "conflict";
  }
  return "";
}

std::string read_column(store::Session& session, const std::string& sql) {
  std::string result;
  session.query_text(sql, [&](const store::Row& row) {
    result += row.is_null(0) ? "null" : std::string(row.text(0));
    result += '\n';
  });
  return result;
}

}  // namespace reeve::testing
