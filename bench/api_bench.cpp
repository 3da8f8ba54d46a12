#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/keep_alive.h"
#include "bench/parts.h"
#include "os/fd.h"
#include "store/store.h"

// API reads with a long history in the store, compared with their floor: the same rows read from the same file with
// plain SQLite, and the same number of bytes sent over a socket. Floor and Reeve alternate.
//   reeve_api_bench FOLDER
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::steady_clock;

constexpr int stored_runs = 50'000;
constexpr int rounds = 5;
constexpr int requests_one_by_one = 1'000;
constexpr int requests_at_once = 1'000;
constexpr int clients = 4;

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

// Realistic rows: arguments, times, last errors.
void fill(const fs::path& database) {
  const auto session = store::open_writer({store::Place::Kind::file, database.string()}, base::SystemClock());
  session->begin();
  session->run_script(fmt::format(
      R"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
INSERT INTO tool_runs (tool_name, status, reason, exit_code, attempt, argv, cwd, started_at, completed_at, duration_ms,
  last_output_at, last_error, progress, usage, tool_errors, metadata, created_at, version)
SELECT 'claude', CASE WHEN i % 7 = 0 THEN 'failed' ELSE 'completed' END, CASE WHEN i % 7 = 0 THEN 'exit code 1' END,
  CASE WHEN i % 7 = 0 THEN 1 ELSE 0 END, 1, '["claude","-p","Look at issue ' || i || ' and mend it"]',
  '/home/person/project', '2026-11-16T07:00:00.000Z', '2026-11-16T07:03:20.125Z', 200125, '2026-11-16T07:03:19.900Z',
  CASE WHEN i % 7 = 0 THEN 'error: no such file' END, '{{"percent":100.0,"message":"done"}}',
  '{{"input_tokens":12000,"output_tokens":3400,"cost_usd":0.12}}', '[]', '{{"issue":"' || i || '"}}',
  '2026-11-16T07:00:00.000Z', 2 FROM n)",
      stored_runs));
  session->commit();
}

constexpr std::string_view list_request = "GET /api/runs?limit=50 HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Reads the rows and sends the bytes, with nothing in between.
class Floor {
 public:
  Floor(const fs::path& database, std::size_t answer_bytes) {
    if (::sqlite3_open_v2(database.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) fail("open");
    constexpr const char* text =
        "SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,"
        " started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage,"
        " tool_errors, metadata, version FROM tool_runs ORDER BY number DESC LIMIT 51";
    if (::sqlite3_prepare_v2(database_, text, -1, &statement_, nullptr) != SQLITE_OK) fail("prepare");
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
    client_ = std::make_unique<KeepAlive>(os::Fd(ends[0]));
    const std::size_t head = std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 00000\r\n\r\n").size();
    answer_ = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {:05}\r\n\r\n", answer_bytes - head);
    answer_.resize(answer_bytes, 'x');
    server_ = std::thread([this, socket = ends[1]] { serve(os::Fd(socket)); });
  }
  ~Floor() {
    client_.reset();
    server_.join();
    ::sqlite3_finalize(statement_);
    ::sqlite3_close(database_);
  }
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  double measure() {
    const auto start = steady_clock::now();
    client_->ask(list_request);
    return ms_since(start);
  }

 private:
  void serve(const os::Fd& socket) {
    std::array<char, 4'096> request{};
    while (::recv(socket.get(), request.data(), request.size(), 0) > 0) {
      read_rows();
      if (::send(socket.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL) != std::ssize(answer_)) return;
    }
  }
  void read_rows() {
    std::size_t bytes = 0;
    while (::sqlite3_step(statement_) == SQLITE_ROW) {
      for (int i = 0; i < ::sqlite3_column_count(statement_); ++i) {
        if (::sqlite3_column_text(statement_, i) != nullptr) {
          bytes += static_cast<std::size_t>(::sqlite3_column_bytes(statement_, i));
        }
      }
    }
    ::sqlite3_reset(statement_);
    if (bytes == 0) fail("no rows");
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::string answer_;
  std::unique_ptr<KeepAlive> client_;
  std::thread server_;
};

KeepAlive connect(const Daemon& daemon) { return KeepAlive(daemon.state() / "reeve.sock"); }

double requests_per_second(const Daemon& daemon) {
  std::vector<KeepAlive> all;
  for (int i = 0; i < clients; ++i) all.push_back(connect(daemon));
  std::atomic<int> left = requests_at_once;
  const auto start = steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (KeepAlive& client : all) {
      threads.emplace_back([&] {
        while (left.fetch_sub(1) > 0) client.ask(list_request);
      });
    }
  }
  return requests_at_once / (ms_since(start) / 1'000);
}

int measure(const fs::path& folder, const Programs& programs) {
  const fs::path state = folder / "api";
  // Reeve accepts only a state folder that it made.
  {
    const Daemon maker(programs, state, Daemon::Leaves::state);
  }
  const fs::path database = state / "reeve.db";
  fill(database);
  const Daemon daemon(programs, state);
  daemon.connect();
  KeepAlive client = connect(daemon);
  const std::size_t bytes = client.ask(list_request).size();
  Floor floor(database, bytes);
  std::vector<double> raw;
  std::vector<double> asked;
  std::vector<double> rates;
  const double used_before = cpu_ms(daemon.pid());
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < requests_one_by_one; ++i) {
      raw.push_back(floor.measure());
      const auto start = steady_clock::now();
      client.ask(list_request);
      asked.push_back(ms_since(start));
    }
    rates.push_back(requests_per_second(daemon));
  }
  row("floor: rows from SQLite, bytes over a socket", fmt::format("{:.3f} ms", median(raw)),
      fmt::format("median; p99 {:.3f} ms; {} runs stored, {} bytes per response", percentile(raw, 0.99), stored_runs,
                  bytes));
  row("GET /api/runs?limit=50", fmt::format("{:.3f} ms", median(asked)),
      fmt::format("{:.2f} x the floor; p99 {:.3f} ms; goal p99 5 ms", median(asked) / median(raw),
                  percentile(asked, 0.99)));
  row(fmt::format("  from {} parallel clients", clients), fmt::format("{:.0f} /s", median(rates)),
      "goal 4,000; clients and daemon share the machine");
  const double requests = rounds * (requests_one_by_one + requests_at_once);
  row("  CPU time of the daemon per request", fmt::format("{:.3f} ms", (cpu_ms(daemon.pid()) - used_before) / requests),
      "both threads");
  row("  memory of the daemon afterwards", fmt::format("{:.1f} MiB", static_cast<double>(pss_kib(daemon.pid())) / 1024),
      "PSS");
  return 0;
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve::bench;
  if (argc != 2) {
    fmt::print(stderr, "usage: reeve_api_bench FOLDER\n");
    return 2;
  }
  const Programs programs{.reeve = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "reeve"};
  return measure(argv[1], programs);
}
