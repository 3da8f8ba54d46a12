#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.h"
#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/parts.h"
#include "bench/raw_commits.h"
#include "bench/run_floor.h"
#include "os/file.h"
#include "store/store.h"

// From an answer to the main of the tool that continues with it, compared with its floor: one durable commit and the
// start of a program until its main. Floor and Reeve alternate, answer by answer.
//   reeve_approval_bench FOLDER [PART…]   parts: answer update many; default: all
//   reeve_approval_bench FOLDER postgresql://…   answers at another daemon of that store
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::steady_clock;

constexpr int answers = 200;

struct Place {
  Programs programs;
  std::string tool;
  fs::path folder;
};

std::int64_t now_ns() { return steady_clock::now().time_since_epoch().count(); }

double ms_between(std::int64_t from, std::int64_t to) { return static_cast<double>(to - from) / 1e6; }

std::int64_t read_stamp(const fs::path& file) {
  const std::string text = os::read_file(file, 64);
  return std::strtoll(text.c_str(), nullptr, 10);
}

// The same commit as Reeve's, in Reeve's tables, and a program start until its main.
class Floor {
 public:
  explicit Floor(const Place& place)
      : tool_(place.tool), stamp_(place.folder / "floor.stamp"), commits_(open(place.folder / "floor.db")) {}
  double measure() const {
    const std::int64_t start = now_ns();
    commits_->commit_one();
    floor::run_captured({tool_, stamp_.string(), "now"});
    return ms_between(start, read_stamp(stamp_));
  }

 private:
  static std::unique_ptr<RawCommits> open(const fs::path& path) {
    store::open_writer({store::Place::Kind::file, path.string()}, base::SystemClock());
    return open_raw_sqlite(path.string());
  }
  std::string tool_;
  fs::path stamp_;
  std::unique_ptr<RawCommits> commits_;
};

struct Waiting {
  base::RunId run{0};
  base::ApprovalId approval{0};
  fs::path stamp;
};

// Runs that have asked and exited.
std::vector<Waiting> ask_many(const Place& place, client::Connection& connection, int count) {
  std::vector<Waiting> waiting;
  for (int i = 0; i < count; ++i) {
    const fs::path stamp = place.folder / fmt::format("stamp-{}", i);
    fs::remove(stamp);
    const base::RunId run = start_run(connection, {.argv = {place.tool, stamp.string()}});
    waiting.push_back({run, wait_question(connection, run), stamp});
  }
  return waiting;
}

struct Delays {
  std::vector<double> floor;
  // Measured from when the answer was confirmed as stored, and from when it was sent.
  std::vector<double> since_stored;
  std::vector<double> since_sent;
};

Delays answer_all(const Place& place, const Daemon& daemon, const std::function<void(const Waiting&)>& decide) {
  client::Connection connection = daemon.connect();
  const Floor floor(place);
  Delays delays;
  for (const Waiting& one : ask_many(place, connection, answers)) {
    delays.floor.push_back(floor.measure());
    const std::int64_t sent = now_ns();
    decide(one);
    const std::int64_t stored = now_ns();
    wait_completed(connection, one.run);
    const std::int64_t began = read_stamp(one.stamp);
    fs::remove(one.stamp);
    delays.since_stored.push_back(ms_between(stored, began));
    delays.since_sent.push_back(ms_between(sent, began));
  }
  return delays;
}

void show(const std::string& what, const Delays& delays, const std::string& goal) {
  row("floor: a commit and a program's main", fmt::format("{:.2f} ms", median(delays.floor)),
      fmt::format("median of {}; p99 {:.2f}", delays.floor.size(), percentile(delays.floor, 0.99)));
  const double middle = median(delays.since_stored);
  row(what, fmt::format("{:.2f} ms", middle),
      fmt::format("{:.2f} x the floor; p99 {:.2f} ms; {}", middle / median(delays.floor),
                  percentile(delays.since_stored, 0.99), goal));
  row("  from the moment it was sent", fmt::format("{:.2f} ms", median(delays.since_sent)),
      fmt::format("{:.2f} x the floor; p99 {:.2f} ms", median(delays.since_sent) / median(delays.floor),
                  percentile(delays.since_sent, 0.99)));
}

// APR-6, over the API.
void measure_answers(const Place& place) {
  const Daemon daemon(place.programs, place.folder / "answers");
  client::Connection connection = daemon.connect();
  const Delays delays = answer_all(place, daemon, [&](const Waiting& one) { approve(connection, one.approval); });
  show("from the stored answer to the tool's main", delays, "goal 3 x, p99 15 ms");
}

class Database {
 public:
  explicit Database(const fs::path& path) {
    if (::sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) fail("no database");
    ::sqlite3_busy_timeout(database_, 10'000);
  }
  ~Database() { ::sqlite3_close(database_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Returns the first column of the resulting rows.
  std::vector<std::string> run(const std::string& statement) {
    std::vector<std::string> rows;
    const auto take = [](void* into, int, char** values, char**) {
      static_cast<std::vector<std::string>*>(into)->emplace_back(values[0] != nullptr ? values[0] : "");
      return 0;
    };
    char* error = nullptr;
    if (::sqlite3_exec(database_, statement.c_str(), take, &rows, &error) != SQLITE_OK) {
      fail(fmt::format("{}: {}", statement, error != nullptr ? error : ""));
    }
    return rows;
  }

 private:
  sqlite3* database_ = nullptr;
};

// APR-6, by a plain SQL update.
void measure_updates(const Place& place) {
  const Daemon daemon(place.programs, place.folder / "updates");
  Database database(daemon.state() / "reeve.db");
  const Delays delays = answer_all(place, daemon, [&](const Waiting& one) {
    database.run(
        fmt::format("UPDATE approvals SET status = 'approved', chosen_value = 'approve', decided_by = 'bench', "
                    "decided_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE approval_id = '{}'",
                    one.approval.text()));
  });
  show("from a plain SQL update to the tool's main", delays, "goal p99 60 ms");
}

// Copies every row of the table `count` times; the columns in `numbers` are incremented for each copy.
void copy_rows(Database& database, const std::string& table, const std::set<std::string>& numbers, int count) {
  std::vector<std::string> columns = database.run(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
  std::vector<std::string> values;
  for (const std::string& column : columns) {
    values.push_back(numbers.contains(column) ? fmt::format("{} + copy", column)
                     : column == "nonce"      ? "hex(randomblob(16))"
                                              : column);
  }
  database.run(
      fmt::format("WITH RECURSIVE copies(copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM copies WHERE copy < "
                  "{}) INSERT INTO {} ({}) SELECT {} FROM {}, copies",
                  count, table, base::join(columns, ", "), base::join(values, ", "), table));
}

struct Size {
  double mib = 0;
  std::size_t threads = 0;
  std::size_t children = 0;
};

Size size_of(const Daemon& daemon) {
  // By then the daemon has freed its startup memory.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  return {static_cast<double>(pss_kib(daemon.pid())) / 1'024, count_threads(daemon.pid()),
          count_children(daemon.pid())};
}

void measure_many(const Place& place) {
  constexpr int count = 10'000;
  constexpr int page = 50;
  const fs::path state = place.folder / "many";
  Size few;
  {
    const Daemon daemon(place.programs, state, Daemon::Leaves::state);
    client::Connection connection = daemon.connect();
    ask_many(place, connection, 1);
    list_pending(connection, page);
    few = size_of(daemon);
  }
  {
    Database database(state / "reeve.db");
    database.run("BEGIN");
    copy_rows(database, "tool_runs", {"number"}, count - 1);
    copy_rows(database, "run_attempts", {"run"}, count - 1);
    copy_rows(database, "approvals", {"number", "run"}, count - 1);
    database.run("COMMIT");
  }
  const Daemon daemon(place.programs, state);
  client::Connection connection = daemon.connect();
  std::vector<double> times;
  for (int i = 0; i < answers; ++i) {
    const std::int64_t start = now_ns();
    if (list_pending(connection, page) != page) fail("the listing is incomplete");
    times.push_back(ms_between(start, now_ns()));
  }
  row(fmt::format("{} pending: listing {}", count, page), fmt::format("{:.2f} ms", median(times)),
      fmt::format("p99 {:.2f}; goal 20", percentile(times, 0.99)));
  const Size many = size_of(daemon);
  row("  daemon memory, compared with one pending", fmt::format("{:+.1f} MiB", many.mib - few.mib),
      fmt::format("PSS {:.1f}, before {:.1f}; goal +20", many.mib, few.mib));
  row("  its threads, its children", fmt::format("{}, {}", many.threads, many.children),
      fmt::format("before {}, {}; goal: unchanged", few.threads, few.children));
}

// A git repository with that config, its files committed.
fs::path make_project(const fs::path& folder, const std::string& config) {
  fs::create_directories(folder / ".reeve");
  os::replace_file(folder / ".gitignore", ".reeve/\n.worktrees/\n");
  os::replace_file(folder / ".reeve" / "config.yaml", config);
  const std::vector<std::string> git = {"/usr/bin/git", "-C", folder.string(),         "-c",
                                        "user.name=A",  "-c", "user.email=a@b.example"};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "first"}}) {
    std::vector<std::string> argv = git;
    argv.insert(argv.end(), words.begin(), words.end());
    floor::run_captured(argv);
  }
  return folder;
}

// Two questions at once, each followed by a step that writes its stamp. Their worktrees exist before: not git, but the
// way of the answer is measured.
std::string ask_twice(const fs::path& folder) {
  std::string nodes = "  - {id: start, type: task, task_config: {role: noop}}\n";
  std::string edges;
  for (const int i : {1, 2}) {
    nodes += fmt::format(
        "  - {{id: first{0}, type: task, task_config: {{role: next, task_template: {1}/first{0}}}}}\n"
        "  - {{id: ask{0}, type: human, human_config: {{title: \"go on?\"}}}}\n"
        "  - {{id: next{0}, type: task, task_config: {{role: next, task_template: {1}/next{0}}}}}\n",
        i, folder.string());
    edges += fmt::format(
        "  - {{source: start, target: first{0}}}\n  - {{source: first{0}, target: ask{0}}}\n"
        "  - {{source: ask{0}, target: next{0}}}\n",
        i);
  }
  return "id: twice\nname: twice\nentry_point: start\nnodes:\n" + nodes + "edges:\n" + edges;
}

void show_elsewhere(const std::string& what, const std::vector<double>& delays) {
  row("answer at another daemon → " + what, fmt::format("{:.2f} ms", median(delays)),
      fmt::format("p99 {:.2f}; goal 50 ms", percentile(delays, 0.99)));
}

// APR-6: the daemon that answers is not the one that has the run or the worktrees. In pairs, the second answer right
// behind the first.
void measure_elsewhere(const Place& place) {
  constexpr int pairs = answers / 4;
  const fs::path project =
      make_project(place.folder / "elsewhere",
                   fmt::format("tools: {{stamp: {{command: [{}, \"{{prompt}}\", now]}}}}\nroles: {{next: {{tool: "
                               "stamp}}}}\n",
                               place.tool));
  const Daemon owner(place.programs, project / ".reeve" / "state");
  const Daemon other(place.programs, place.folder / "elsewhere-b");
  client::Connection here = owner.connect();
  client::Connection there = other.connect();
  std::vector<double> attempts;
  std::vector<double> steps;
  const std::string yaml = ask_twice(place.folder);
  for (int i = 0; i < pairs; ++i) {
    const std::vector<Waiting> waiting = ask_many(place, here, 2);
    std::vector<std::int64_t> sent;
    for (const Waiting& one : waiting) {
      sent.push_back(now_ns());
      approve(there, one.approval);
    }
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      wait_completed(here, waiting[k].run);
      attempts.push_back(ms_between(sent[k], read_stamp(waiting[k].stamp)));
    }
    const base::ExecutionId execution = start_execution(here, yaml, project);
    const std::vector<base::ApprovalId> asked = wait_node_questions(here, execution, 2);
    sent.clear();
    for (const base::ApprovalId id : asked) {
      sent.push_back(now_ns());
      approve(there, id);
    }
    wait_execution(here, execution);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      steps.push_back(ms_between(sent[k], read_stamp(place.folder / fmt::format("next{}", k + 1))));
    }
  }
  show_elsewhere("next attempt", attempts);
  show_elsewhere("next step", steps);
}

std::vector<Part> parts_of(const Place& place) {
  if (place.programs.store != Programs().store) return {{"elsewhere", [place] { measure_elsewhere(place); }}};
  return {
      {"answer", [place] { measure_answers(place); }},
      {"update", [place] { measure_updates(place); }},
      {"many", [place] { measure_many(place); }},
  };
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  std::vector<std::string> words = bench::words_of(argc, argv, 1, "FOLDER [postgresql://… | PART…]");
  const std::filesystem::path bin = bench::own_program().parent_path();
  bench::Programs programs{bin / "reeve"};
  if (words.size() > 1 && words[1].starts_with("postgresql:")) {
    programs.store = words[1];
    words.erase(words.begin() + 1);
  }
  bench::measure_parts(
      bench::parts_of({programs, (bin / "reeve_approval_tool").string(), std::filesystem::absolute(words[0])}),
      {words.begin() + 1, words.end()});
}
