#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/parts.h"
#include "bench/raw_commits.h"
#include "bench/run_floor.h"
#include "keeper/records.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "store/store.h"

// Tool runs over the daemon's API, compared with their floors: floor and Reeve alternate, medians of five rounds.
//   reeve_run_bench FOLDER [PART…]   parts: runs lines json pty idle silent start; default: all
//   reeve_run_bench print BYTES      the measured tool: prints plain lines as fast as they are read
//   reeve_run_bench stamps COUNT     prints a line every 10 ms with the time it was written
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr double megabyte = 1e6;
constexpr std::string_view secret = "sk-bench-0123456789abcdef";

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

double seconds_of(const std::function<void()>& work) {
  const auto start = steady_clock::now();
  work();
  return seconds_since(start);
}

struct Figures {
  double floor = 0;
  double reeve = 0;
};

// Median times of both, measured alternately.
Figures measure(const std::function<double()>& floor, const std::function<double()>& reeve) {
  std::vector<double> floors;
  std::vector<double> figures;
  for (int round = 0; round < rounds; ++round) {
    floors.push_back(floor());
    figures.push_back(reeve());
  }
  return {median(floors), median(figures)};
}

void row_with_floor(const std::string& what, std::string_view unit, double amount, const Figures& took,
                    std::string_view goal) {
  row(what, fmt::format("{:.0f} {}", amount / took.reeve, unit),
      fmt::format("{:.2f} x the floor ({:.0f} {}); {}", took.floor / took.reeve, amount / took.floor, unit, goal));
}

double mib(std::int64_t kib) { return static_cast<double>(kib) / 1'024; }

struct Place {
  Programs programs;
  // This program, as a tool.
  std::string self;
  fs::path folder;
};

void on_threads(int count, const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work);
}

// Short runs with two commits each: one for the start, one for the end.
void measure_runs(const Place& place) {
  constexpr int count = 1'000;
  const std::string path = (place.folder / "floor.db").string();
  // Reeve's tables, without Reeve.
  store::open_writer({store::Place::Kind::file, path}, base::SystemClock());
  const auto raw = open_raw_sqlite(path);
  std::mutex mutex;
  const auto floor = [&](int at_once) {
    return seconds_of([&] {
      on_threads(at_once, [&] {
        const auto commit = [&] {
          const std::lock_guard lock(mutex);
          raw->commit_one();
        };
        for (int i = 0; i < count / at_once; ++i) {
          commit();
          floor::run_captured({"/bin/true"});
          commit();
        }
      });
    });
  };
  const Daemon daemon(place.programs, place.folder / "runs");
  const auto reeve = [&](int at_once) {
    return seconds_of([&] {
      on_threads(at_once, [&] {
        client::Connection connection = daemon.connect();
        for (int i = 0; i < count / at_once; ++i) {
          wait_completed(connection, start_run(connection, {.argv = {"/bin/true"}}));
        }
      });
    });
  };
  for (const auto& [at_once, what] : {std::pair(1, "/bin/true, sequential"), {4, "/bin/true, four in parallel"}}) {
    const Figures took = measure([&] { return floor(at_once); }, [&] { return reeve(at_once); });
    row_with_floor(what, "runs/s", count, took, "goal 0.3, aim 0.6");
  }
  const std::int64_t busy = pss_kib(daemon.pid());
  // After two polls the daemon considers itself idle.
  std::this_thread::sleep_for(std::chrono::seconds(11));
  row("the daemon after 10,000 runs, idle", fmt::format("{:.1f} MiB", mib(pss_kib(daemon.pid()))),
      fmt::format("PSS; goal 15; before {:.1f}", mib(busy)));
}

fs::path attempt_folder(const Daemon& daemon, base::RunId run) { return daemon.state() / "runs" / run.text() / "1"; }

// Waits until the keeper has written the exit record.
void wait_exit_record(const Daemon& daemon, base::RunId run) {
  const fs::path record = attempt_folder(daemon, run) / keeper::exit_name;
  while (!fs::exists(record)) std::this_thread::sleep_for(milliseconds(1));
}

// Large output of one tool, until the tool has ended.
void measure_output(const Place& place, const std::string& mode, std::uint64_t bytes) {
  const bool is_terminal = mode == "pty";
  const std::vector<std::string> tool = {place.self, "print", std::to_string(bytes)};
  const fs::path file = place.folder / "floor.out";
  std::vector<double> until_logged;
  const auto reeve = [&] {
    const Daemon daemon(place.programs, place.folder / "output");
    client::Connection connection = daemon.connect();
    const auto start = steady_clock::now();
    const base::RunId run = start_run(connection, {.argv = tool, .mode = mode});
    wait_exit_record(daemon, run);
    const double took = seconds_since(start);
    wait_completed(connection, run);
    until_logged.push_back(seconds_since(start));
    return took;
  };
  const auto floor = [&] {
    fs::remove(file);
    return seconds_of([&] {
      if (is_terminal) {
        floor::run_on_terminal(tool);
      } else {
        floor::run_piped_into_file(tool, file);
      }
    });
  };
  const Figures took = measure(floor, reeve);
  fs::remove(file);
  const double amount = static_cast<double>(bytes) / megabyte;
  row_with_floor(fmt::format("{:.0f} MB of lines through a {}", amount, is_terminal ? "terminal" : "pipe"), "MB/s",
                 amount, took, is_terminal ? "goal 0.8 (a bare read loop)" : "goal 0.6 (`tool | cat > file`)");
  row("  until everything is in combined.log", fmt::format("{:.0f} MB/s", amount / median(until_logged)), "");
}

void write_json_lines(const fs::path& path, std::uint64_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  std::string block;
  std::uint64_t written = 0;
  for (int i = 0; written < bytes; ++i) {
    block += fmt::format(
        R"({{"type":"assistant","id":"msg_{:06}","delta":{{"text":"reading src/net/socket_{}.cpp with {}"}},"index":{}}})"
        "\n",
        i, i % 97, i % 50 == 0 ? secret : "a key", i % 7);
    if (block.size() < 1'000'000) continue;
    written += std::fwrite(block.data(), 1, block.size(), file);
    block.clear();
  }
  std::fclose(file);
}

// JSON lines, each parsed, redacted and written to the log.
void measure_json(const Place& place) {
  const fs::path lines = place.folder / "lines.json";
  const fs::path out = place.folder / "escaped.json";
  write_json_lines(lines, 200'000'000);
  const double amount = static_cast<double>(fs::file_size(lines)) / megabyte;
  const auto reeve = [&] {
    const Daemon daemon(place.programs, place.folder / "json");
    client::Connection connection = daemon.connect();
    return seconds_of([&] {
      const base::RunId run = start_run(
          connection, {.argv = {"/bin/cat", lines.string()}, .environment = {{"BENCH_TOKEN", std::string(secret)}}});
      wait_completed(connection, run);
    });
  };
  const auto floor = [&] {
    fs::remove(out);
    return seconds_of([&] { floor::escape_lines(lines, out); });
  };
  const Figures took = measure(floor, reeve);
  row_with_floor("200 MB of JSON lines into combined.log", "MB/s", amount, took, "goal 120 MB/s, aim 250");
  fs::remove(lines);
  fs::remove(out);
}

struct Family {
  std::vector<pid_t> keepers;
  std::vector<pid_t> tools;
  std::int64_t pss_kib = 0;
};

// The keepers of a daemon that hold a run, and their tools.
Family find_family(pid_t daemon) {
  std::vector<os::ProcessStat> all;
  for (const pid_t pid : os::list_processes()) {
    if (const auto stat = os::read_process_stat(pid)) all.push_back(*stat);
  }
  std::set<pid_t> keepers;
  for (const os::ProcessStat& stat : all) {
    if (stat.parent == daemon) keepers.insert(stat.id.pid);
  }
  Family family;
  for (const os::ProcessStat& stat : all) {
    if (!keepers.contains(stat.parent)) continue;
    family.tools.push_back(stat.id.pid);
    family.keepers.push_back(stat.parent);
  }
  for (const auto* group : {&family.tools, &family.keepers}) {
    for (const pid_t pid : *group) family.pss_kib += pss_kib(pid);
  }
  return family;
}

void wait_for_tools(const Daemon& daemon, std::size_t count) {
  while (find_family(daemon.pid()).tools.size() != count) std::this_thread::sleep_for(milliseconds(20));
}

void measure_idle(const Place& place) {
  const Daemon daemon(place.programs, place.folder / "idle");
  client::Connection connection = daemon.connect();
  wait_completed(connection, start_run(connection, {.argv = {"/bin/true"}}));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  row("an idle daemon", fmt::format("{:.1f} MiB", mib(pss_kib(daemon.pid()))), "PSS; goal 15");
  const std::int64_t before = context_switches(daemon.pid());
  std::this_thread::sleep_for(std::chrono::seconds(10));
  row("its wake-ups in 10 s", std::to_string(context_switches(daemon.pid()) - before),
      "goal at most 2: one for each poll");
}

void measure_silent(const Place& place) {
  constexpr int count = 1'000;
  const Daemon daemon(place.programs, place.folder / "silent");
  client::Connection connection = daemon.connect();
  const RunRequest options{.argv = {"/bin/sleep", "1000"}};
  start_run(connection, options);
  wait_for_tools(daemon, 1);
  row("a silent run, keeper and tool", fmt::format("{:.2f} MiB", mib(find_family(daemon.pid()).pss_kib)),
      "PSS; goal 1.2");
  const double started = seconds_of([&] {
    on_threads(4, [&] {
      client::Connection own = daemon.connect();
      for (int i = 0; i < count / 4; ++i) start_run(own, options);
    });
    wait_for_tools(daemon, count + 1);
  });
  const std::vector<base::RunId> running = list_runs(connection, model::RunStatus::running);
  const Family family = find_family(daemon.pid());
  row(fmt::format("{} silent runs", running.size()), fmt::format("{:.0f} MiB", mib(family.pss_kib)),
      fmt::format("{:.2f} MiB each; the daemon {:.1f} MiB; started in {:.1f} s",
                  mib(family.pss_kib) / static_cast<double>(running.size()), mib(pss_kib(daemon.pid())), started));
  const double cancelled = seconds_of([&] {
    for (const base::RunId run : running) cancel_run(connection, run);
    for (const base::RunId run : running) wait_over(connection, run);
    wait_for_tools(daemon, 0);
  });
  row("  all cancelled, no process left", fmt::format("{:.1f} s", cancelled),
      fmt::format("the daemon then {:.1f} MiB", mib(pss_kib(daemon.pid()))));
}

// Starts a program and reads its standard output. Reeve keeps its register of state folders in `home`.
class Reader {
 public:
  Reader(std::vector<std::string> argv, const fs::path& home) {
    os::Pipe pipe = os::make_pipe();
    auto started = os::spawn({.argv = std::move(argv),
                              .environment = {"PATH=/usr/bin:/bin", "HOME=" + home.string()},
                              .output = pipe.write.get()});
    if (!started) std::abort();
    process_.emplace(std::move(*started));
    pipe_ = std::move(pipe.read);
  }
  ~Reader() { process_->wait(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Empty at the end.
  std::string read() {
    std::array<char, 4'096> bytes{};
    const ssize_t count = ::read(pipe_.get(), bytes.data(), bytes.size());
    return {bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }

 private:
  std::optional<os::Process> process_;
  os::Fd pipe_;
};

std::int64_t monotonic_ns() { return steady_clock::now().time_since_epoch().count(); }

void measure_start(const Place& place) {
  constexpr int starts = 20;
  const std::string reeve = place.programs.reeve.string();
  const fs::path home = place.folder / "home";
  std::vector<double> first;
  std::vector<double> again;
  const auto first_output = [&](const std::string& state) {
    const auto start = steady_clock::now();
    Reader reader({reeve, "run", "--state", state, "--", "echo", "hi"}, home);
    if (!reader.read().starts_with("hi")) std::abort();
    return seconds_since(start) * 1'000;
  };
  for (int i = 0; i < starts; ++i) {
    const std::string state = (place.folder / fmt::format("start-{}", i)).string();
    first.push_back(first_output(state));
    again.push_back(first_output(state));
    Reader({reeve, "stop", "--state", state}, home).read();
    // Idle keepers may still be exiting.
    std::error_code ignored;
    fs::remove_all(state, ignored);
  }
  row("no daemon: reeve run -- echo hi, first output", fmt::format("{:.1f} ms", median(first)), "goal under 40");
  row("a daemon runs: the same", fmt::format("{:.1f} ms", median(again)), "");

  const Daemon daemon(place.programs, place.folder / "follow");
  client::Connection connection = daemon.connect();
  const base::RunId run = start_run(connection, {.argv = {place.self, "stamps", "300"}});
  std::vector<double> delays;
  Reader follower({reeve, "logs", "-f", "--state", daemon.state().string(), run.text()}, home);
  for (std::string text = follower.read(); !text.empty(); text = follower.read()) {
    const std::int64_t now = monotonic_ns();
    const std::int64_t stamp = std::strtoll(text.c_str(), nullptr, 10);
    delays.push_back(static_cast<double>(now - stamp) / 1e6);
  }
  wait_completed(connection, run);
  row("from a printed line to logs -f", fmt::format("{:.2f} ms", median(delays)),
      fmt::format("median of {}; goal under 10", delays.size()));
}

int print_lines(std::uint64_t bytes) {
  std::string block;
  while (block.size() < 64UL * 1024)
    block += "compiling src/net/socket.cpp: 3 warnings, all is well so far, going on\n";
  for (std::uint64_t written = 0; written < bytes;) {
    const ssize_t count = ::write(STDOUT_FILENO, block.data(), std::min<std::uint64_t>(block.size(), bytes - written));
    if (count <= 0) return 1;
    written += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int print_stamps(int count) {
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    const std::string line = fmt::format("{}\n", monotonic_ns());
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 1;
  }
  return 0;
}

std::vector<Part> parts_of(const Place& place) {
  return {
      {"runs", [place] { measure_runs(place); }},
      {"lines", [place] { measure_output(place, "pipe", 1'000'000'000); }},
      {"json", [place] { measure_json(place); }},
      {"pty", [place] { measure_output(place, "pty", 100'000'000); }},
      {"idle", [place] { measure_idle(place); }},
      {"silent", [place] { measure_silent(place); }},
      {"start", [place] { measure_start(place); }},
  };
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  const std::vector<std::string> words = bench::words_of(argc, argv, 1, "FOLDER [PART…]");
  if (words.size() == 2 && words[0] == "print") return bench::print_lines(std::strtoull(words[1].c_str(), nullptr, 10));
  if (words.size() == 2 && words[0] == "stamps") return bench::print_stamps(std::atoi(words[1].c_str()));
  const std::filesystem::path self = bench::own_program();
  bench::measure_parts(
      bench::parts_of({{self.parent_path() / "reeve"}, self.string(), std::filesystem::absolute(words[0])}),
      {words.begin() + 1, words.end()});
}
