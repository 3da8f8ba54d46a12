#include "bench/raw_commits.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sqlite3.h>

#include "store/libpq.h"

namespace reeve::bench {

namespace {

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "raw floor: %s failed\n", what);
  std::exit(1);
}

constexpr const char* insert_run =
    "INSERT INTO tool_runs (tool_name, status, argv, cwd, metadata, created_at) VALUES ('t', 'queued', '[]', '/', "
    "'{}', "
    "'2026-01-01T00:00:00.000Z') RETURNING number";
constexpr const char* count = "UPDATE counters SET value = value + 1 WHERE name = 'events' RETURNING value";
constexpr const char* event_data =
    R"({"tool":"t","tool_run_id":"TR-1","execution_id":null,"status":"queued","reason":null,"exit_code":null})";

class RawSqlite final : public RawCommits {
 public:
  explicit RawSqlite(const std::string& path) {
    check(::sqlite3_open(path.c_str(), &database_) == SQLITE_OK, "open");
    check(::sqlite3_exec(database_, "PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON",
                         nullptr, nullptr, nullptr) == SQLITE_OK,
          "pragma");
    prepare("BEGIN IMMEDIATE", begin_);
    prepare(insert_run, run_);
    prepare(count, count_);
    prepare("INSERT INTO events (seq, at, kind, data) VALUES (?, '2026-01-01T00:00:00.000Z', 'tool_status_change', ?)",
            event_);
    prepare("COMMIT", commit_);
  }
  ~RawSqlite() override {
    for (sqlite3_stmt* statement : {begin_, run_, count_, event_, commit_}) ::sqlite3_finalize(statement);
    ::sqlite3_close(database_);
  }
  void commit_one() override {
    step(begin_);
    step(run_);
    step(count_, &last_);
    ::sqlite3_bind_int64(event_, 1, last_);
    ::sqlite3_bind_text(event_, 2, event_data, -1, SQLITE_STATIC);
    step(event_);
    step(commit_);
  }

 private:
  void prepare(const char* text, sqlite3_stmt*& statement) {
    check(::sqlite3_prepare_v2(database_, text, -1, &statement, nullptr) == SQLITE_OK, text);
  }
  static void step(sqlite3_stmt* statement, std::int64_t* value = nullptr) {
    int status = ::sqlite3_step(statement);
    if (status == SQLITE_ROW) {
      if (value != nullptr) *value = ::sqlite3_column_int64(statement, 0);
      status = ::sqlite3_step(statement);
    }
    check(status == SQLITE_DONE, "step");
    ::sqlite3_reset(statement);
  }
  sqlite3* database_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* run_ = nullptr;
  sqlite3_stmt* count_ = nullptr;
  sqlite3_stmt* event_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  std::int64_t last_ = 0;
};

PGconn* connect(const store::Libpq& pq, const std::string& url) {
  const char* const names[] = {"dbname", nullptr};
  const char* const values[] = {url.c_str(), nullptr};
  return pq.PQconnectdbParams(names, values, 1);
}

// One round trip per statement, as most programs use libpq.
class RawPostgresql final : public RawCommits {
 public:
  explicit RawPostgresql(const std::string& url) : pq_(store::libpq()), connection_(connect(pq_, url)) {
    check(pq_.PQstatus(connection_) == CONNECTION_OK, "connect");
    exec(
        "PREPARE r AS INSERT INTO tool_runs (number, tool_run_id, tool_name, status, argv, cwd, metadata, created_at) "
        "SELECT n, 'TR-' || n, 't', 'queued', '[]', '/', '{}', '2026-01-01T00:00:00.000Z' "
        "FROM nextval('tool_runs_number_seq') AS n RETURNING number");
    exec("PREPARE c AS UPDATE counters SET value = value + 1 WHERE name = 'events' RETURNING value");
    exec(
        "PREPARE e (bigint, text) AS INSERT INTO events (seq, at, kind, data) VALUES ($1, '2026-01-01T00:00:00.000Z', "
        "'tool_status_change', $2)");
  }
  ~RawPostgresql() override { pq_.PQfinish(connection_); }
  void commit_one() override {
    exec("BEGIN");
    run("r", {});
    const std::string seq = run("c", {});
    run("e", {seq.c_str(), event_data});
    exec("COMMIT");
  }

 private:
  void exec(const char* text) {
    PGresult* result = pq_.PQexec(connection_, text);
    check(pq_.PQresultStatus(result) == PGRES_COMMAND_OK, text);
    pq_.PQclear(result);
  }
  std::string run(const char* name, std::vector<const char*> values) {
    check(pq_.PQsendQueryPrepared(connection_, name, static_cast<int>(values.size()), values.data(), nullptr, nullptr,
                                  0) == 1,
          name);
    std::string value;
    while (PGresult* result = pq_.PQgetResult(connection_)) {
      const ExecStatusType status = pq_.PQresultStatus(result);
      check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, name);
      if (pq_.PQntuples(result) > 0) value = pq_.PQgetvalue(result, 0, 0);
      pq_.PQclear(result);
    }
    return value;
  }
  const store::Libpq& pq_;
  PGconn* connection_;
};

}  // namespace

std::unique_ptr<RawCommits> open_raw_sqlite(const std::string& path) { return std::make_unique<RawSqlite>(path); }
std::unique_ptr<RawCommits> open_raw_postgresql(const std::string& url) { return std::make_unique<RawPostgresql>(url); }

}  // namespace reeve::bench
