#include "store/postgresql.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <map>
#include <poll.h>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"
#include "store/libpq.h"

namespace reeve::store {

namespace {

struct Finish {
  void operator()(PGconn* connection) const noexcept { libpq().PQfinish(connection); }
};
struct Clear {
  void operator()(PGresult* result) const noexcept { libpq().PQclear(result); }
};
using ConnectionHandle = std::unique_ptr<PGconn, Finish>;
using ResultHandle = std::unique_ptr<PGresult, Clear>;

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

std::int64_t read_rows(const PGresult* result, const RowReader& read) {
  const int rows = libpq().PQntuples(result);
  PostgresqlRow row(result);
  for (int i = 0; i < rows; ++i) {
    row.go_to(i);
    read(row);
  }
  return rows;
}

std::string code_of(std::string_view state) {
  // Integrity, and a word that an enum does not have.
  if (state.starts_with("23") || state == "22P02") return "store.refused";
  // Out of disk, memory, connections.
  if (state == "53100") return "store.full";
  // A lock that could not be had in time.
  if (state == "55P03") return "store.busy";
  // Connection failures, the server shuts down, crashes or starts.
  if (state.empty() || state.starts_with("08") || state.starts_with("57P")) return "store.unavailable";
  return "store.failed";
}

[[noreturn]] void throw_result(const PGresult* result, std::string_view doing) {
  const char* state = libpq().PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* words = libpq().PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string code = code_of(state != nullptr ? state : "");
  throw base::Error(code, fmt::format("{}: {}", doing, words != nullptr ? words : "the connection was lost"),
                    code == "store.full" ? "make room on the database server's disk" : "");
}

// How a statement is prepared: as it is; so that it fails when it does not change exactly one row; for many rows, so
// that it fails when it does not change them all.
enum class Form { plain, checked, many };
constexpr std::size_t forms = 3;

// What was sent and has not been answered yet.
struct Outstanding {
  enum class Kind { control, begin, prepare, read, write, write_any };
  Kind kind = Kind::control;
  Sql statement{};
  std::int64_t rows = 0;
  Form form = Form::plain;
};

std::string make_nonce() {
  std::array<std::byte, 16> bytes{};
  base::SystemRandom().fill(bytes);
  std::string nonce;
  for (const std::byte byte : bytes) nonce += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return nonce;
}

class PostgresqlSession final : public Session {
 public:
  explicit PostgresqlSession(const PostgresqlOptions& options) : options_(options) {
    statements_.resize(sql_texts().size());
    nonce_ = make_nonce();
    connect();
    if (options.listens) listen();
  }

  Engine engine() const noexcept override { return Engine::postgresql; }

  void begin(std::size_t units) override {
    if (!is_alive()) connect();
    units_ = units;
    in_transaction_ = true;
    now_.reset();
    counts_rows_ = false;
    send_text("BEGIN", Outstanding::Kind::control);
    send_text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", Outstanding::Kind::begin);
  }

  // The COMMIT travels with the writes before it: a write that fails, or finds something else, makes the server pass
  // over all that follows.
  void commit() override {
    send_gathered();
    if (counts_rows_) pump(sent_);
    mark_transaction();
    send_text("COMMIT", Outstanding::Kind::control);
    try {
      sync();
    } catch (const base::Error& error) {
      if (error.code() != "store.unavailable") throw;
      in_transaction_ = false;
      if (!was_committed()) throw;
    }
    in_transaction_ = false;
  }

  void rollback() noexcept override {
    gathered_.clear();
    if (!in_transaction_) return;
    in_transaction_ = false;
    try {
      check_sent(libpq().PQpipelineSync(connection_.get()));
      take_outstanding();
      take_sync();
      send_text("ROLLBACK", Outstanding::Kind::control);
      sync();
    } catch (const base::Error&) {
      // The server has rolled back what it has lost sight of; the next begin() connects anew.
      connection_.reset();
    }
    held_.clear();
  }

  base::WallTime now() override {
    while (!now_) pump(done_ + 1);
    return *now_;
  }

  bool is_pipelined() const noexcept override { return true; }

  Ticket send(Sql statement, Params params) override {
    if (!in_transaction_ && !is_alive()) connect();
    send_gathered();
    if (number(statement, Form::plain).changes_rows) ++changes_;
    return send_form(statement, Form::plain, params, {Outstanding::Kind::read, statement, 0});
  }

  std::int64_t take(Ticket ticket, const RowReader& read) override {
    if (in_transaction_) {
      pump(ticket);
    } else if (!held_.contains(ticket) && !outstanding_.empty()) {
      sync();
    }
    const auto found = held_.find(ticket);
    if (found == held_.end()) return -1;
    const ResultHandle result = std::move(found->second);
    held_.erase(found);
    return read_rows(result.get(), read);
  }

  void write(Sql statement, Params params, std::int64_t rows) override {
    REEVE_ASSERT(in_transaction_);
    ++changes_;
    if (rows == 1 && can_gather(statement)) return gather(statement, params);
    if (rows != 1) counts_rows_ = true;
    send_form(statement, rows == 1 ? Form::checked : Form::plain, params, {Outstanding::Kind::write, statement, rows});
  }
  void write_any(Sql statement, Params params) override {
    REEVE_ASSERT(in_transaction_);
    ++changes_;
    if (can_gather(statement)) return gather(statement, params);
    send_form(statement, Form::plain, params, {Outstanding::Kind::write_any, statement, 0});
  }

  std::optional<std::int64_t> take_number(std::string_view table) override {
    std::deque<std::int64_t>& numbers = numbers_[std::string(table)];
    if (numbers.empty()) {
      // As many as share the transaction may need one, and under load the next ones too: numbers may have gaps.
      constexpr std::size_t few = 8;
      const std::size_t count = units_ > few ? units_ * 4 : units_;
      const store::Param params[] = {{"table", table}, {"count", static_cast<std::int64_t>(count)}};
      query(Sql::numbers_take, Params(params), [&](const Row& row) { numbers.push_back(row.integer(0)); });
    }
    const std::int64_t number = numbers.front();
    numbers.pop_front();
    return number;
  }

  std::int64_t changes() const noexcept override { return changes_; }

  void run_script(const std::string& text) override {
    query_text(text, [](const Row&) {});
  }

  std::int64_t query_text(const std::string& text, const RowReader& read) override {
    if (!in_transaction_ && !is_alive()) connect();
    send_gathered();
    if (in_transaction_) pump(sent_);
    if (in_transaction_ || !outstanding_.empty()) sync();
    libpq().PQexitPipelineMode(connection_.get());
    const ResultHandle result(libpq().PQexec(connection_.get(), text.c_str()));
    libpq().PQenterPipelineMode(connection_.get());
    const ExecStatusType status = libpq().PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw_result(result.get(), text.substr(0, 60));
    return read_rows(result.get(), read);
  }

  void prepare(Sql statement) override {
    for (const Form form : {Form::plain, Form::many}) {
      const bool exists = form == Form::plain || !text_of(statement).many.empty();
      if (exists && state_of(statement, form) == Statement::State::unknown) send_prepare(statement, form);
    }
    sync();
  }

  int notice_fd() const noexcept override { return listener_ ? libpq().PQsocket(listener_.get()) : -1; }

  bool take_notice() override {
    if (!listener_) return options_.listens && listen_again();
    if (libpq().PQconsumeInput(listener_.get()) == 0) {
      listener_.reset();
      return listen_again();
    }
    bool any = false;
    while (PGnotify* told = libpq().PQnotifies(listener_.get())) {
      any = true;
      was_told_ = true;
      libpq().PQfreemem(told);
    }
    return any;
  }

  bool was_changed_outside() override { return std::exchange(was_told_, false); }

 private:
  struct Statement {
    enum class State { unknown, sent, ready };
    std::array<NumberedSql, forms> sql;
    std::array<State, forms> state = {};
  };

  // --- the connection ---

  bool is_alive() const { return connection_ && libpq().PQstatus(connection_.get()) == CONNECTION_OK; }

  ConnectionHandle open() const {
    // Before the address: what stands there counts more.
    const std::string patience = std::to_string(options_.patience.count());
    const char* const names[] = {"connect_timeout", "tcp_user_timeout", "dbname", nullptr};
    const char* const values[] = {"10", patience.c_str(), options_.url.c_str(), nullptr};
    ConnectionHandle connection(libpq().PQconnectdbParams(names, values, 1));
    if (!connection || libpq().PQstatus(connection.get()) != CONNECTION_OK) {
      throw base::Error("store.unavailable",
                        fmt::format("cannot reach the database: {}",
                                    base::trim(connection ? libpq().PQerrorMessage(connection.get()) : "no memory")),
                        "start the server, or mend `store` in the config");
    }
    constexpr int oldest_version = 140000;
    if (libpq().PQserverVersion(connection.get()) < oldest_version) {
      throw base::Error("store.too_old", "the PostgreSQL server is older than version 14", "use version 14 or later");
    }
    libpq().PQsetNoticeProcessor(connection.get(), [](void*, const char*) {}, nullptr);
    return connection;
  }

  void connect() {
    held_.clear();
    outstanding_.clear();
    sent_ = done_ = 0;
    numbers_.clear();
    gathered_.clear();
    for (Statement& statement : statements_) statement.state = {};
    connection_ = open();
    exec(connection_.get(), "SET client_encoding = 'UTF8'");
    exec(connection_.get(), "SET synchronous_commit = on");
    // Every statement finds its rows by an index; a plan made while a table was empty must not outlive that.
    exec(connection_.get(), "SET enable_seqscan = off");
    exec(connection_.get(), "SET enable_hashjoin = off");
    exec(connection_.get(), "SET enable_mergejoin = off");
    exec(connection_.get(), "SET plan_cache_mode = force_generic_plan");
    exec(connection_.get(), "SET jit = off");
    // Who leaves a row locked must not hold up everybody for ever.
    exec(connection_.get(), fmt::format("SET lock_timeout = {}", options_.patience.count()).c_str());
    exec(connection_.get(), options_.is_read_only ? "SET default_transaction_read_only = on"
                                                  : "SET default_transaction_isolation = 'read committed'");
    const ResultHandle own(
        libpq().PQexec(connection_.get(),
                       "SELECT format('pid = %s AND backend_start = %L', pid, backend_start) FROM pg_stat_activity "
                       "WHERE pid = pg_backend_pid()"));
    if (libpq().PQntuples(own.get()) == 1) backend_ = libpq().PQgetvalue(own.get(), 0, 0);
    libpq().PQsetnonblocking(connection_.get(), 1);
    libpq().PQenterPipelineMode(connection_.get());
  }

  void listen() {
    listener_ = open();
    exec(listener_.get(), "LISTEN reeve_outside");
  }

  // After the server was away, at most once a second. What was said meanwhile is not known: look once.
  bool listen_again() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_listen_) return false;
    next_listen_ = now + std::chrono::seconds(1);
    try {
      listen();
    } catch (const base::Error&) {
      listener_.reset();
      return false;
    }
    was_told_ = true;
    return true;
  }

  static void exec(PGconn* connection, const char* text) {
    const ResultHandle result(libpq().PQexec(connection, text));
    if (libpq().PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw_result(result.get(), text);
  }

  void mark_transaction() {
    const std::string at = base::format_time(now());
    const Param mark[] = {{"nonce", nonce_}, {"transactions", ++transactions_}, {"at", at}};
    send_form(Sql::writer_mark, Form::plain, mark, {Outstanding::Kind::write_any, Sql::writer_mark});
    if (std::exchange(has_forgotten_, true)) return;
    const std::string before = base::format_time(now() - std::chrono::days(7));
    const Param old[] = {{"before", before}};
    send_form(Sql::writers_forget, Form::plain, old, {Outstanding::Kind::write_any, Sql::writers_forget});
  }

  // A commit whose answer was lost: what became of it. First the backend that may still be at it must be gone.
  bool was_committed() {
    const auto until = std::chrono::steady_clock::now() + options_.patience;
    constexpr base::Milliseconds pause(50);
    const std::string lost = backend_;
    while (std::chrono::steady_clock::now() < until) {
      try {
        connect();
        std::int64_t alive = 0;
        query_text("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE " + lost,
                   [&](const Row& row) { alive = row.integer(0); });
        if (alive == 0) {
          std::int64_t transactions = 0;
          query_text(fmt::format("SELECT transactions FROM writers WHERE nonce = '{}'", nonce_),
                     [&](const Row& row) { transactions = row.integer(0); });
          return transactions == transactions_;
        }
      } catch (const base::Error&) {
        // Not now, and not known: look again.
      }
      // The server starts again, or the lost session is still being wound up.
      std::this_thread::sleep_for(pause);
    }
    throw base::Error("store.unknown_outcome",
                      "the database went away while it was committing, and nobody knows whether it did",
                      "look at the record before asking again");
  }

  // --- sending ---

  NumberedSql& number(Sql statement, Form form) {
    NumberedSql& sql = statements_[static_cast<std::size_t>(statement)].sql[static_cast<std::size_t>(form)];
    if (!sql.text.empty()) return sql;
    const SqlText& text = text_of(statement);
    switch (form) {
      case Form::plain:
        return sql = number_parameters(text.postgresql);
      case Form::checked:
        return sql = number_parameters(
                   fmt::format("WITH changed AS ({} RETURNING 1) SELECT 1 / count(*) FROM changed", text.postgresql));
      case Form::many:
        return sql = number_parameters(fmt::format(
                   "WITH changed AS ({} RETURNING 1) SELECT 1 / (count(*) = :expected_rows::bigint)::int FROM changed",
                   text.many));
    }
    return sql;
  }

  void check_sent(int ok) {
    if (ok == 1) return;
    throw base::Error("store.unavailable",
                      fmt::format("lost the database: {}", base::trim(libpq().PQerrorMessage(connection_.get()))));
  }

  Ticket note(const Outstanding& outstanding) {
    outstanding_.push_back(outstanding);
    return ++sent_;
  }

  void send_text(const char* text, Outstanding::Kind kind) {
    check_sent(libpq().PQsendQueryParams(connection_.get(), text, 0, nullptr, nullptr, nullptr, nullptr, 0));
    note({kind});
  }

  static std::string name_of(Sql statement, Form form) {
    static constexpr std::array<std::string_view, forms> endings = {"", "!", "*"};
    return fmt::format("{}{}", text_of(statement).name, endings[static_cast<std::size_t>(form)]);
  }

  void send_prepare(Sql statement, Form form) {
    check_sent(libpq().PQsendPrepare(connection_.get(), name_of(statement, form).c_str(),
                                     number(statement, form).text.c_str(), 0, nullptr));
    state_of(statement, form) = Statement::State::sent;
    note({Outstanding::Kind::prepare, statement, 0, form});
  }

  Ticket send_form(Sql statement, Form form, Params params, const Outstanding& outstanding) {
    const NumberedSql& sql = number(statement, form);
    if (state_of(statement, form) == Statement::State::unknown) send_prepare(statement, form);
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
    return note(outstanding);
  }

  // --- many rows at once ---

  // Rows for one statement, as JSON.
  struct Gathered {
    std::string rows;
    std::int64_t count = 0;
    // Which rows: one statement changes each once.
    std::unordered_set<std::int64_t> keys;
  };

  bool can_gather(Sql statement) const { return units_ > 1 && !text_of(statement).many.empty(); }

  // By what such a statement finds its row.
  static std::int64_t key_of(Params params) {
    for (const std::string_view name : {"slot", "number", "execution"}) {
      const auto found = std::ranges::find(params, name, &Param::name);
      if (found != params.end()) return std::get<std::int64_t>(found->value.data());
    }
    return 0;
  }

  // They wait for each other until something is read, committed, or changed a second time.
  void gather(Sql statement, Params params) {
    if (!gathered_[statement].keys.insert(key_of(params)).second) {
      // The row is to be changed again, after what it becomes now.
      send_gathered();
      gathered_[statement].keys.insert(key_of(params));
    }
    ++changes_;
    Gathered& gathered = gathered_[statement];
    base::Value row = base::Value::object();
    for (const Param& param : params) {
      if (const auto* number = std::get_if<std::int64_t>(&param.value.data())) {
        row.set(param.name, base::Value::integer(*number));
      } else if (const auto* text = std::get_if<std::string_view>(&param.value.data())) {
        row.set(param.name, base::Value::string(without_nul(*text)));
      } else {
        row.set(param.name, base::Value());
      }
    }
    gathered.rows += gathered.count++ == 0 ? '[' : ',';
    gathered.rows += json::encode(row);
  }

  void send_gathered() {
    for (auto& [statement, gathered] : std::exchange(gathered_, {})) {
      gathered.rows += ']';
      const Param params[] = {{"rows", gathered.rows}, {"expected_rows", gathered.count}};
      send_form(statement, Form::many, params, {Outstanding::Kind::write, statement, 1});
    }
  }

  // --- receiving ---

  // Sends what is buffered and waits until an answer is complete. Reads while it writes: two full pipes would wait for
  // each other for ever.
  void wait_for_answer() {
    while (true) {
      const int flushed = libpq().PQflush(connection_.get());
      if (flushed < 0) check_sent(0);
      if (flushed == 0 && libpq().PQisBusy(connection_.get()) == 0) return;
      pollfd ready{libpq().PQsocket(connection_.get()), static_cast<short>(POLLIN | (flushed == 1 ? POLLOUT : 0)), 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR) check_sent(0);
      if ((ready.revents & (POLLIN | POLLERR | POLLHUP)) != 0) check_sent(libpq().PQconsumeInput(connection_.get()));
    }
  }

  ResultHandle next_result() {
    wait_for_answer();
    return ResultHandle(libpq().PQgetResult(connection_.get()));
  }

  // Takes answers until that of the given statement is there.
  void pump(Ticket until) {
    if (done_ >= until) return;
    check_sent(libpq().PQsendFlushRequest(connection_.get()));
    while (done_ < until) take_one();
  }

  void take_one() {
    ResultHandle result = next_result();
    if (!result) throw_lost();
    const Outstanding answered = outstanding_.front();
    outstanding_.pop_front();
    ++done_;
    // Each answer ends with a null.
    next_result();
    const ExecStatusType status = libpq().PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      if (answered.kind == Outstanding::Kind::prepare) {
        state_of(answered.statement, answered.form) = Statement::State::unknown;
      }
      const char* state = libpq().PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      const bool found_none = state != nullptr && std::string_view(state) == "22012";
      if (answered.kind == Outstanding::Kind::write && found_none) throw Conflict{answered.statement};
      // A deadlock, or a serialization failure: the other one goes on, this one begins anew.
      if (state != nullptr && std::string_view(state).starts_with("40")) throw Conflict{answered.statement};
      const bool has_name = answered.kind != Outstanding::Kind::control && answered.kind != Outstanding::Kind::begin;
      throw_result(result.get(), has_name ? text_of(answered.statement).name : "transaction");
    }
    accept(answered, std::move(result));
  }

  Statement::State& state_of(Sql statement, Form form) {
    return statements_[static_cast<std::size_t>(statement)].state[static_cast<std::size_t>(form)];
  }

  void accept(const Outstanding& answered, ResultHandle result) {
    switch (answered.kind) {
      case Outstanding::Kind::control:
      case Outstanding::Kind::write_any:
        return;
      case Outstanding::Kind::begin: {
        const PostgresqlRow row(result.get());
        now_ = base::WallTime(base::Milliseconds(row.integer(0)));
        return;
      }
      case Outstanding::Kind::prepare:
        state_of(answered.statement, answered.form) = Statement::State::ready;
        return;
      case Outstanding::Kind::read:
        held_.emplace(done_, std::move(result));
        return;
      case Outstanding::Kind::write: {
        if (answered.rows == 1) return;
        const std::string_view digits = libpq().PQcmdTuples(result.get());
        std::int64_t changed = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), changed);
        if (changed != answered.rows) throw Conflict{answered.statement};
        return;
      }
    }
  }

  [[noreturn]] void throw_lost() {
    throw base::Error("store.unavailable",
                      fmt::format("lost the database: {}", base::trim(libpq().PQerrorMessage(connection_.get()))));
  }

  // Ends the pipeline: everything sent is answered, and without a transaction of our own it is committed.
  void sync() {
    check_sent(libpq().PQpipelineSync(connection_.get()));
    const std::exception_ptr failure = take_outstanding();
    take_sync();
    if (failure) std::rethrow_exception(failure);
  }

  // All answers, also after a failed one: what follows it is told as aborted. The first failure is the one to tell.
  std::exception_ptr take_outstanding() {
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

  void take_sync() {
    while (true) {
      const ResultHandle result = next_result();
      if (!result) {
        if (!is_alive()) throw_lost();
        continue;
      }
      if (libpq().PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return;
    }
  }

  PostgresqlOptions options_;
  ConnectionHandle connection_;
  ConnectionHandle listener_;
  std::vector<Statement> statements_;
  std::deque<Outstanding> outstanding_;
  std::unordered_map<Ticket, ResultHandle> held_;
  Ticket sent_ = 0;
  Ticket done_ = 0;
  bool in_transaction_ = false;
  std::size_t units_ = 1;
  std::map<Sql, Gathered> gathered_;
  // Numbers for new rows, by table.
  std::map<std::string, std::deque<std::int64_t>> numbers_;
  // Whether a write must be counted here before the COMMIT can be sent.
  bool counts_rows_ = false;
  std::int64_t changes_ = 0;
  std::optional<base::WallTime> now_;
  // See the table `writers`.
  std::string nonce_;
  std::int64_t transactions_ = 0;
  bool has_forgotten_ = false;
  // Which backend serves the connection.
  std::string backend_;
  bool was_told_ = false;
  std::chrono::steady_clock::time_point next_listen_;
};

}  // namespace

std::unique_ptr<Session> open_postgresql(const PostgresqlOptions& options) {
  return std::make_unique<PostgresqlSession>(options);
}

}  // namespace reeve::store
