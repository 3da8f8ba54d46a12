#include "store/postgresql_pipeline.h"

#include <cerrno>
#include <charconv>
#include <poll.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::store {

namespace {

using base::ErrorCode;

// Runs in every transaction, so it is prepared once per connection.
constexpr const char* clock_name = "clock";

class PostgresqlRow final : public Row {
 public:
  explicit PostgresqlRow(const PGresult* result) noexcept : result_(result) {}
  void go_to(int row) noexcept { row_ = row; }
  bool is_null(int column) const override { return libpq().PQgetisnull(result_, row_, column) != 0; }
  std::int64_t integer(int column) const override {
    const std::string_view digits = text(column);
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  std::string_view text(int column) const override {
    return {libpq().PQgetvalue(result_, row_, column),
            static_cast<std::size_t>(libpq().PQgetlength(result_, row_, column))};
  }

 private:
  const PGresult* result_;
  int row_ = 0;
};

ErrorCode code_of(std::string_view state) {
  // Integrity violations, and invalid enum values.
  if (state.starts_with("23") || state == "22P02") return ErrorCode::store_refused;
  // Out of disk, memory, connections.
  if (state == "53100") return ErrorCode::store_full;
  // Lock timeout.
  if (state == "55P03") return ErrorCode::store_busy;
  // Connection failures; server shutdown, crash or startup.
  if (state.empty() || state.starts_with("08") || state.starts_with("57P")) return ErrorCode::store_unavailable;
  return ErrorCode::store_failed;
}

[[noreturn]] void throw_result(const PGresult* result, std::string_view doing) {
  const char* state = libpq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* words = libpq().PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const ErrorCode code = code_of(state != nullptr ? state : "");
  throw base::Error(code, fmt::format("{}: {}", doing, words != nullptr ? words : "the connection was lost"),
                    code == ErrorCode::store_full ? "free space on the database server's disk" : "");
}

NumberedSql make_form(const SqlText& text, Form form) {
  switch (form) {
    case Form::plain:
      break;
    case Form::checked:
      return number_parameters(
          fmt::format("WITH changed AS ({} RETURNING 1) SELECT 1 / count(*) FROM changed", text.postgresql));
    case Form::many:
      return number_parameters(fmt::format(
          "WITH changed AS ({} RETURNING 1) SELECT 1 / (count(*) = :expected_rows::bigint)::int FROM changed",
          text.many));
  }
  return number_parameters(text.postgresql);
}

bool is_well(const PGresult* result) {
  const ExecStatusType status = libpq().PQresultStatus(result);
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

}  // namespace

std::int64_t read_rows(const PGresult* result, const RowReader& read) {
  const int rows = libpq().PQntuples(result);
  PostgresqlRow row(result);
  for (int i = 0; i < rows; ++i) {
    row.go_to(i);
    read(row);
  }
  return rows;
}

ConnectionHandle open_connection(const PostgresqlOptions& options) {
  // Placed before the URL, whose own settings take precedence.
  const std::string timeout = std::to_string(options.timeout.count());
  const std::array<const char*, 4> names = {"connect_timeout", "tcp_user_timeout", "dbname", nullptr};
  const std::array<const char*, 4> values = {"10", timeout.c_str(), options.url.c_str(), nullptr};
  ConnectionHandle connection(libpq().PQconnectdbParams(names.data(), values.data(), 1));
  if (!connection || libpq().PQstatus(connection.get()) != CONNECTION_OK) {
    throw base::Error(ErrorCode::store_unavailable,
                      fmt::format("cannot reach the database: {}",
                                  base::trim(connection ? libpq().PQerrorMessage(connection.get()) : "no memory")),
                      "start the server, or correct `store` in the config");
  }
  constexpr int oldest_version = 140000;
  if (libpq().PQserverVersion(connection.get()) < oldest_version) {
    throw base::Error(ErrorCode::store_too_old, "the PostgreSQL server is older than version 14",
                      "use version 14 or later");
  }
  libpq().PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
  return connection;
}

void run_command(PGconn* connection, const std::string& text) {
  const ResultHandle result(libpq().PQexec(connection, text.c_str()));
  if (libpq().PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw_result(result.get(), text);
}

Pipeline::Pipeline(PostgresqlOptions options) : options_(std::move(options)) {
  statements_.resize(sql_texts().size());
  connect();
}

bool Pipeline::is_alive() const { return connection_ && libpq().PQstatus(connection_.get()) == CONNECTION_OK; }

int Pipeline::backend_pid() const { return connection_ ? libpq().PQbackendPID(connection_.get()) : 0; }

void Pipeline::connect() {
  held_.clear();
  outstanding_.clear();
  sent_ = done_ = flushed_ = 0;
  for (Statement& statement : statements_) statement.state = {};
  connection_ = open_connection(options_);
  const std::string timeout = fmt::format("SET lock_timeout = {}", options_.timeout.count());
  for (const std::string& setting : {
           std::string("SET client_encoding = 'UTF8'"),
           std::string("SET synchronous_commit = on"),
           // Every statement finds its rows by index, one by one; a plan made for an empty table must not persist.
           std::string("SET enable_seqscan = off"),
           std::string("SET enable_hashjoin = off"),
           std::string("SET enable_mergejoin = off"),
           std::string("SET plan_cache_mode = force_generic_plan"),
           std::string("SET jit = off"),
           // A session that leaves a row locked must not block others forever.
           timeout,
           fmt::format("PREPARE {} AS SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", clock_name),
           std::string(options_.is_read_only ? "SET default_transaction_read_only = on"
                                             : "SET default_transaction_isolation = 'read committed'"),
       }) {
    run_command(connection_.get(), setting);
  }
  const ResultHandle own(
      libpq().PQexec(connection_.get(),
                     "SELECT format('pid = %s AND backend_start = %L', pid, backend_start) FROM pg_stat_activity "
                     "WHERE pid = pg_backend_pid()"));
  if (libpq().PQntuples(own.get()) == 1) backend_ = libpq().PQgetvalue(own.get(), 0, 0);
  libpq().PQsetnonblocking(connection_.get(), 1);
  libpq().PQenterPipelineMode(connection_.get());
}

// --- sending ---

const NumberedSql& Pipeline::number(Sql statement, Form form) {
  NumberedSql& sql = statements_[static_cast<std::size_t>(statement)].sql[static_cast<std::size_t>(form)];
  if (sql.text.empty()) sql = make_form(text_of(statement), form);
  return sql;
}

const std::string& Pipeline::name_of(Sql statement, Form form) {
  static constexpr std::array<std::string_view, forms> endings = {"", "!", "*"};
  std::string& name = statements_[static_cast<std::size_t>(statement)].name[static_cast<std::size_t>(form)];
  if (name.empty()) name = fmt::format("{}{}", text_of(statement).name, endings[static_cast<std::size_t>(form)]);
  return name;
}

Pipeline::Statement::State& Pipeline::state_of(Sql statement, Form form) {
  return statements_[static_cast<std::size_t>(statement)].state[static_cast<std::size_t>(form)];
}

void Pipeline::check_sent(int ok) {
  if (ok != 1) throw_lost();
}

Pipeline::Ticket Pipeline::note(const Outstanding& outstanding) {
  outstanding_.push_back(outstanding);
  return ++sent_;
}

Pipeline::Ticket Pipeline::send(const char* text, Expect expect) {
  check_sent(libpq().PQsendQueryParams(connection_.get(), text, 0, nullptr, nullptr, nullptr, nullptr, 0));
  return note({.expect = expect});
}

Pipeline::Ticket Pipeline::send_clock() {
  check_sent(libpq().PQsendQueryPrepared(connection_.get(), clock_name, 0, nullptr, nullptr, nullptr, 0));
  return note({.expect = Expect::rows});
}

void Pipeline::prepare(Sql statement, Form form) {
  if (state_of(statement, form) != Statement::State::unknown) return;
  check_sent(libpq().PQsendPrepare(connection_.get(), name_of(statement, form).c_str(),
                                   number(statement, form).text.c_str(), 0, nullptr));
  state_of(statement, form) = Statement::State::sent;
  note({.kind = Outstanding::Kind::prepare, .statement = statement, .form = form});
}

Pipeline::Ticket Pipeline::send(Sql statement, Form form, Params params, Expect expect, std::int64_t rows) {
  prepare(statement, form);
  const NumberedSql& sql = number(statement, form);
  REEVE_ASSERT(params.size() == sql.names.size());
  constexpr std::size_t most = 64;
  REEVE_ASSERT(params.size() <= most);
  std::array<std::string, most> texts;
  std::array<const char*, most> values{};
  std::size_t guess = 0;
  for (const Param& param : params) {
    std::size_t at = guess++;
    if (sql.names[at] != param.name) {
      for (at = 0; at < sql.names.size() && sql.names[at] != param.name; ++at) {
      }
      REEVE_ASSERT(at < sql.names.size());
    }
    if (const auto* number = std::get_if<std::int64_t>(&param.value.data())) {
      texts[at] = fmt::format_int(*number).str();
    } else if (const auto* text = std::get_if<std::string_view>(&param.value.data())) {
      texts[at] = without_nul(*text);
    } else {
      continue;
    }
    values[at] = texts[at].c_str();
  }
  check_sent(libpq().PQsendQueryPrepared(connection_.get(), name_of(statement, form).c_str(),
                                         static_cast<int>(params.size()), values.data(), nullptr, nullptr, 0));
  return note({.expect = expect, .statement = statement, .form = form, .rows = rows});
}

// --- receiving ---

// Sends buffered data and waits for a complete result. Reads while writing, because two full buffers would deadlock.
void Pipeline::wait_for_answer() {
  while (true) {
    const int flushed = libpq().PQflush(connection_.get());
    if (flushed < 0) check_sent(0);
    if (flushed == 0 && libpq().PQisBusy(connection_.get()) == 0) return;
    pollfd ready{libpq().PQsocket(connection_.get()), static_cast<short>(POLLIN | (flushed == 1 ? POLLOUT : 0)), 0};
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR) check_sent(0);
    if ((ready.revents & (POLLIN | POLLERR | POLLHUP)) != 0) check_sent(libpq().PQconsumeInput(connection_.get()));
  }
}

ResultHandle Pipeline::next_result() {
  wait_for_answer();
  return ResultHandle(libpq().PQgetResult(connection_.get()));
}

void Pipeline::wait_for(Ticket ticket) {
  if (done_ >= ticket) return;
  // One flush request covers everything sent so far, including the results awaited next.
  if (flushed_ < ticket) {
    check_sent(libpq().PQsendFlushRequest(connection_.get()));
    flushed_ = sent_;
  }
  while (done_ < ticket) take_one();
}

void Pipeline::take_one() {
  ResultHandle result = next_result();
  if (!result) throw_lost();
  const Outstanding answered = outstanding_.front();
  outstanding_.pop_front();
  ++done_;
  // Each result ends with a null.
  next_result();
  if (!is_well(result.get())) fail(answered, result.get());
  accept(answered, std::move(result));
}

void Pipeline::fail(const Outstanding& answered, const PGresult* result) {
  if (answered.kind == Outstanding::Kind::prepare) {
    state_of(*answered.statement, answered.form) = Statement::State::unknown;
  }
  const char* text = libpq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = text != nullptr ? text : "";
  // Counting forms divide by zero if the count is wrong. After a deadlock or serialization failure, the other
  // transaction continues and this one starts over.
  const bool found_else = answered.expect == Expect::changes && state == "22012";
  const bool is_undone = state.starts_with("40");
  if (answered.statement && (found_else || is_undone)) throw Conflict{*answered.statement};
  throw_result(result, answered.statement ? text_of(*answered.statement).name : "transaction");
}

void Pipeline::accept(const Outstanding& answered, ResultHandle result) {
  if (answered.kind == Outstanding::Kind::prepare) {
    state_of(*answered.statement, answered.form) = Statement::State::ready;
  } else if (answered.expect == Expect::rows) {
    held_.emplace(done_, std::move(result));
  } else if (answered.expect == Expect::changes && answered.form == Form::plain) {
    const std::string_view digits = libpq().PQcmdTuples(result.get());
    std::int64_t changed = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), changed);
    if (changed != answered.rows) throw Conflict{*answered.statement};
  }
}

ResultHandle Pipeline::take_rows(Ticket ticket) {
  const auto found = held_.find(ticket);
  if (found == held_.end()) return nullptr;
  ResultHandle result = std::move(found->second);
  held_.erase(found);
  return result;
}

void Pipeline::throw_lost() {
  throw base::Error(ErrorCode::store_unavailable,
                    fmt::format("lost the database: {}", base::trim(libpq().PQerrorMessage(connection_.get()))));
}

void Pipeline::sync() {
  check_sent(libpq().PQpipelineSync(connection_.get()));
  const std::exception_ptr failure = take_outstanding();
  take_sync();
  if (failure) std::rethrow_exception(failure);
}

void Pipeline::sync_after_failure() {
  check_sent(libpq().PQpipelineSync(connection_.get()));
  take_outstanding();
  take_sync();
}

// Takes all results, also after a failed one: the following ones are reported as aborted. The first failure is the one
// to report.
std::exception_ptr Pipeline::take_outstanding() {
  std::exception_ptr failure;
  while (!outstanding_.empty()) {
    try {
      take_one();
    } catch (...) {
      if (!is_alive()) throw;
      if (!failure) failure = std::current_exception();
    }
  }
  return failure;
}

void Pipeline::take_sync() {
  while (true) {
    const ResultHandle result = next_result();
    if (!result) {
      if (!is_alive()) throw_lost();
      continue;
    }
    if (libpq().PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return;
  }
}

ResultHandle Pipeline::run_text(const std::string& text) {
  libpq().PQexitPipelineMode(connection_.get());
  ResultHandle result(libpq().PQexec(connection_.get(), text.c_str()));
  libpq().PQenterPipelineMode(connection_.get());
  if (!is_well(result.get())) throw_result(result.get(), text.substr(0, 60));
  return result;
}

}  // namespace reeve::store
