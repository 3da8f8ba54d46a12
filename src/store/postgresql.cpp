#include "store/postgresql.h"

#include <algorithm>
#include <deque>
#include <map>
#include <thread>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"
#include "store/postgresql_pipeline.h"

namespace reeve::store {

namespace {

using base::ErrorCode;

class PostgresqlSession final : public Session {
 public:
  explicit PostgresqlSession(const PostgresqlOptions& options)
      : options_(options), pipeline_(options), nonce_(base::random_hex(16)) {
    if (options.listens) listen();
  }

  Engine engine() const noexcept override { return Engine::postgresql; }

  void begin(std::size_t units) override {
    if (!pipeline_.is_alive()) connect();
    units_ = units;
    in_transaction_ = true;
    now_.reset();
    counts_rows_ = false;
    pipeline_.send("BEGIN", Pipeline::Expect::done);
    clock_ = pipeline_.send_clock();
  }

  // COMMIT is pipelined with the writes before it: if a write fails or does not find what it expects, the server skips
  // everything after it.
  void commit() override {
    send_gathered();
    if (counts_rows_) pipeline_.wait_for_all();
    mark_transaction();
    pipeline_.send("COMMIT", Pipeline::Expect::done);
    try {
      pipeline_.sync();
    } catch (const base::Error& error) {
      if (!error.is(ErrorCode::store_unavailable)) throw;
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
      pipeline_.sync_after_failure();
      pipeline_.send("ROLLBACK", Pipeline::Expect::done);
      pipeline_.sync();
    } catch (...) {
      // After any failure, the server rolls back the lost session, and the next begin() reconnects.
      pipeline_.disconnect();
    }
    pipeline_.drop_rows();
  }

  base::WallTime now() override {
    if (!now_) {
      pipeline_.wait_for(clock_);
      const ResultHandle time = pipeline_.take_rows(clock_);
      read_rows(time.get(), [&](const Row& row) { now_ = base::WallTime(base::Milliseconds(row.integer(0))); });
    }
    return *now_;
  }

  bool is_pipelined() const noexcept override { return true; }

  Ticket send(Sql statement, Params params) override {
    if (!in_transaction_ && !pipeline_.is_alive()) connect();
    send_gathered();
    if (pipeline_.number(statement, Form::plain).changes_rows) ++changes_;
    return pipeline_.send(statement, Form::plain, params, Pipeline::Expect::rows);
  }

  std::int64_t take(Ticket ticket, const RowReader& read) override {
    if (in_transaction_) {
      pipeline_.wait_for(ticket);
    } else if (!pipeline_.has_rows(ticket) && !pipeline_.is_idle()) {
      pipeline_.sync();
    }
    const ResultHandle result = pipeline_.take_rows(ticket);
    return result ? read_rows(result.get(), read) : -1;
  }

  void write(Sql statement, Params params, std::int64_t rows) override {
    REEVE_ASSERT(in_transaction_);
    ++changes_;
    if (rows == 1 && can_gather(statement)) return gather(statement, params);
    if (rows != 1) counts_rows_ = true;
    pipeline_.send(statement, rows == 1 ? Form::checked : Form::plain, params, Pipeline::Expect::changes, rows);
  }
  void write_any(Sql statement, Params params) override {
    REEVE_ASSERT(in_transaction_);
    ++changes_;
    if (can_gather(statement)) return gather(statement, params);
    pipeline_.send(statement, Form::plain, params, Pipeline::Expect::done);
  }

  std::optional<std::int64_t> take_number(std::string_view table) override {
    std::deque<std::int64_t>& numbers = numbers_[std::string(table)];
    if (numbers.empty()) {
      // Every unit of the transaction may need a number, and under load the next ones too: numbers may have gaps.
      constexpr std::size_t few = 8;
      const std::size_t count = units_ > few ? units_ * 4 : units_;
      const auto params = std::to_array<Param>({{"table", table}, {"count", static_cast<std::int64_t>(count)}});
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
    if (!in_transaction_ && !pipeline_.is_alive()) connect();
    send_gathered();
    if (in_transaction_) pipeline_.wait_for_all();
    if (in_transaction_ || !pipeline_.is_idle()) pipeline_.sync();
    return read_rows(pipeline_.run_text(text).get(), read);
  }

  void prepare(Sql statement) override {
    pipeline_.prepare(statement, Form::plain);
    if (!text_of(statement).many.empty()) pipeline_.prepare(statement, Form::many);
    pipeline_.sync();
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
      // This daemon acts on its own decisions at their commit.
      any = any || told->be_pid != pipeline_.backend_pid();
      libpq().PQfreemem(told);
    }
    was_told_ = was_told_ || any;
    return any;
  }

  bool was_changed_outside() override { return std::exchange(was_told_, false); }

 private:
  void connect() {
    numbers_.clear();
    gathered_.clear();
    pipeline_.connect();
  }

  void listen() {
    listener_ = open_connection(options_);
    run_command(listener_.get(), "LISTEN reeve_outside; LISTEN reeve_decided");
  }

  // Reconnects the listener, at most once a second. Notices sent meanwhile are lost, so check once.
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

  void mark_transaction() {
    const std::string at = base::format_time(now());
    const auto mark = std::to_array<Param>({{"nonce", nonce_}, {"transactions", ++transactions_}, {"at", at}});
    pipeline_.send(Sql::writer_mark, Form::plain, mark, Pipeline::Expect::done);
    if (std::exchange(has_forgotten_, true)) return;
    const std::string before = base::format_time(now() - std::chrono::days(7));
    const auto old = std::to_array<Param>({{"before", before}});
    pipeline_.send(Sql::writers_forget, Form::plain, old, Pipeline::Expect::done);
  }

  // Determines the outcome of a commit whose response was lost. First, the backend that may still be working on it must
  // be gone.
  bool was_committed() {
    const auto until = std::chrono::steady_clock::now() + options_.timeout;
    constexpr base::Milliseconds pause(50);
    const std::string lost = pipeline_.backend();
    std::string why = "the lost session is still open";
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
      } catch (const base::Error& error) {
        why = error.message();
      }
      // The server is restarting, or the lost session is still being closed.
      std::this_thread::sleep_for(pause);
    }
    throw base::Error(
        ErrorCode::store_unknown_outcome,
        fmt::format("the connection to the database was lost during a commit; its outcome is unknown ({})", why),
        "check the record before you retry");
  }

  // --- many rows at once ---

  // Rows for one statement, as JSON.
  struct Gathered {
    std::string rows;
    std::int64_t count = 0;
    // The keys of these rows: one statement changes each row once.
    std::unordered_set<std::int64_t> keys;
  };

  bool can_gather(Sql statement) const { return units_ > 1 && !text_of(statement).many.empty(); }

  // The key by which such a statement finds its row.
  static std::int64_t key_of(Params params) {
    for (const std::string_view name : {"slot", "number", "execution"}) {
      const auto found = std::ranges::find(params, name, &Param::name);
      if (found != params.end()) return std::get<std::int64_t>(found->value.data());
    }
    return 0;
  }

  // Collects writes until something is read, committed, or changed a second time.
  void gather(Sql statement, Params params) {
    if (!gathered_[statement].keys.insert(key_of(params)).second) {
      // The row changes again, so its earlier write must be sent first.
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
      const auto params = std::to_array<Param>({{"rows", gathered.rows}, {"expected_rows", gathered.count}});
      pipeline_.send(statement, Form::many, params, Pipeline::Expect::changes);
    }
  }

  PostgresqlOptions options_;
  Pipeline pipeline_;
  ConnectionHandle listener_;
  bool in_transaction_ = false;
  std::size_t units_ = 1;
  std::map<Sql, Gathered> gathered_;
  // Numbers for new rows, by table.
  std::map<std::string, std::deque<std::int64_t>> numbers_;
  // Whether a write must be counted here before the COMMIT can be sent.
  bool counts_rows_ = false;
  std::int64_t changes_ = 0;
  // The ticket for the transaction's start time, and its value once taken.
  Ticket clock_ = 0;
  std::optional<base::WallTime> now_;
  // See the table `writers`.
  std::string nonce_;
  std::int64_t transactions_ = 0;
  bool has_forgotten_ = false;
  bool was_told_ = false;
  std::chrono::steady_clock::time_point next_listen_;
};

}  // namespace

std::unique_ptr<Session> open_postgresql(const PostgresqlOptions& options) {
  return std::make_unique<PostgresqlSession>(options);
}

}  // namespace reeve::store
