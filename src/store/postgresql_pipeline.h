#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/libpq.h"
#include "store/postgresql.h"
#include "store/session.h"

// One connection with pipelined statements: sent immediately, answered in order, waited for only when a result is
// needed.
namespace reeve::store {

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept { libpq().PQfinish(connection); }
};
struct ClearResult {
  void operator()(PGresult* result) const noexcept { libpq().PQclear(result); }
};
using ConnectionHandle = std::unique_ptr<PGconn, FinishConnection>;
using ResultHandle = std::unique_ptr<PGresult, ClearResult>;

// Throws `store.unavailable` or `store.too_old`.
ConnectionHandle open_connection(const PostgresqlOptions& options);
// Runs a statement without rows and waits for it.
void run_command(PGconn* connection, const std::string& text);
std::int64_t read_rows(const PGresult* result, const RowReader& read);

// How a statement is prepared: unchanged; so that it fails unless it changes exactly one row; or for many rows, so that
// it fails unless it changes them all.
enum class Form { plain, checked, many };
constexpr std::size_t forms = 3;

class Pipeline {
 public:
  using Ticket = Session::Ticket;
  // The expected result: none; rows to be taken; or changed rows, counted here unless the form counts them.
  enum class Expect { done, rows, changes };

  explicit Pipeline(PostgresqlOptions options);

  bool is_alive() const;
  // Everything in flight is lost with the old connection.
  void connect();
  void disconnect() noexcept { connection_.reset(); }
  // Identifies the server's backend, as a condition on pg_stat_activity.
  const std::string& backend() const noexcept { return backend_; }
  // The process of that backend, as named in its notices.
  int backend_pid() const;

  Ticket send(const char* text, Expect expect);
  // The server's time in milliseconds.
  Ticket send_clock();
  Ticket send(Sql statement, Form form, Params params, Expect expect, std::int64_t rows = 0);
  void prepare(Sql statement, Form form);
  // The statement as sent.
  const NumberedSql& number(Sql statement, Form form);

  // Waits for all results up to this one. Throws the first failure among them.
  void wait_for(Ticket ticket);
  void wait_for_all() { wait_for(sent_); }
  // Ends the pipeline: everything is answered, and statements outside a transaction are committed.
  void sync();
  // The same after any failure: the connection can then be used again.
  void sync_after_failure();
  bool is_idle() const noexcept { return outstanding_.empty(); }
  bool has_rows(Ticket ticket) const { return held_.contains(ticket); }
  // nullptr if they were lost.
  ResultHandle take_rows(Ticket ticket);
  void drop_rows() { held_.clear(); }

  // Runs one or several statements without parameters and waits for them. Only when idle.
  ResultHandle run_text(const std::string& text);

 private:
  struct Statement {
    enum class State { unknown, sent, ready };
    std::array<NumberedSql, forms> sql;
    std::array<std::string, forms> name;
    std::array<State, forms> state = {};
  };
  struct Outstanding {
    enum class Kind { answer, prepare };
    Kind kind = Kind::answer;
    Expect expect = Expect::done;
    std::optional<Sql> statement = {};
    Form form = Form::plain;
    std::int64_t rows = 0;
  };

  Statement::State& state_of(Sql statement, Form form);
  const std::string& name_of(Sql statement, Form form);
  Ticket note(const Outstanding& outstanding);
  void check_sent(int ok);
  [[noreturn]] void throw_lost();
  void wait_for_answer();
  ResultHandle next_result();
  void take_one();
  void fail(const Outstanding& answered, const PGresult* result);
  void accept(const Outstanding& answered, ResultHandle result);
  std::exception_ptr take_outstanding();
  void take_sync();

  PostgresqlOptions options_;
  ConnectionHandle connection_;
  std::string backend_;
  std::vector<Statement> statements_;
  std::deque<Outstanding> outstanding_;
  std::unordered_map<Ticket, ResultHandle> held_;
  Ticket sent_ = 0;
  Ticket done_ = 0;
  // The last ticket covered by a flush request.
  Ticket flushed_ = 0;
};

}  // namespace reeve::store
