#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/keep_alive.h"
#include "bench/parts.h"
#include "bench/raw_commits.h"
#include "bench/run_floor.h"
#include "os/file.h"
#include "os/spawn.h"
#include "os/write.h"
#include "store/store.h"

// Tool calls that a rule allows, over the sockets of real runs of a real daemon (TOOL-3), compared with their floor:
// one durable commit. Floor and Reeve alternate.
//   reeve_call_bench FOLDER [PART…]   parts: call many hook; default: all
//   reeve_call_bench hooks FOLDER     the measured run: starts hooks and writes their times to a file
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int calls_one_by_one = 1'000;
constexpr int runs_at_once = 100;
constexpr int calls_per_round = 10'000;
constexpr int rounds = 5;
constexpr int hooks = 200;

// A call of Claude Code, allowed by the config below.
constexpr std::string_view shell_call = R"("tool":"Bash","arguments":{"command":"git status","description":"Status"})";
// Reading beneath the folder of the run is allowed by default.
constexpr std::string_view read_call = R"("tool":"Read","arguments":{"file_path":"src/main.c"})";
constexpr std::string_view config = R"(policies:
  tools:
    shell_execute:
      - {policy: auto_approve, when: {program: [git status, git diff, ls]}}
)";

void write_text(const fs::path& path, std::string_view text);

// As much of a repository as git needs: elsewhere, no rule approves it.
void make_repository(const fs::path& folder) {
  write_text(folder / ".git" / "HEAD", "ref: refs/heads/main\n");
  for (const char* part : {"objects", "refs"}) fs::create_directories(folder / ".git" / part);
}

struct Place {
  Programs programs;
  fs::path folder;
};

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path);
  if (!(file << text).flush()) fail(fmt::format("cannot write {}", path.string()));
}

// With the config above as that of its user.
Daemon open_daemon(const Place& place, const std::string& name) {
  const fs::path state = place.folder / name;
  // Reeve accepts only a state folder that it made.
  {
    const Daemon maker(place.programs, state, Daemon::Leaves::state);
  }
  write_text(state / ".config" / "reeve" / "config.yaml", config);
  return {place.programs, state};
}

// Runs that do nothing, with their sockets; their calls come from here. They are killed at the end.
class Agents {
 public:
  Agents(const Daemon& daemon, const fs::path& folder, int count) : connection_(daemon.connect()) {
    write_text(folder / "src" / "main.c", "int main(void) { return 0; }\n");
    make_repository(folder);
    const std::string script = R"(printf %s "$REEVE_SOCKET" >"$0.new" && mv "$0.new" "$0" && exec sleep 1000000)";
    std::vector<fs::path> files;
    for (int i = 0; i < count; ++i) {
      files.push_back(folder / fmt::format("socket-{}", i));
      fs::remove(files.back());
      // The rule for a program applies to the one that the run finds in its PATH.
      runs_.push_back(start_run(connection_, {.argv = {"/bin/sh", "-c", script, files.back().string()},
                                              .environment = {{"PATH", "/usr/bin:/bin"}},
                                              .cwd = folder.string()}));
    }
    for (const fs::path& file : files) sockets_.push_back(wait_for(file));
  }
  ~Agents() {
    for (const base::RunId run : runs_) cancel_run(connection_, run);
    for (const base::RunId run : runs_) wait_over(connection_, run);
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  // What each run has in REEVE_SOCKET.
  const std::vector<std::string>& sockets() const noexcept { return sockets_; }

 private:
  static std::string wait_for(const fs::path& file) {
    for (int i = 0; i < 6'000; ++i) {
      if (fs::exists(file)) return os::read_file(file, 4'096);
      std::this_thread::sleep_for(milliseconds(5));
    }
    fail("a run does not start");
  }

  client::Connection connection_;
  std::vector<base::RunId> runs_;
  std::vector<std::string> sockets_;
};

// Each call has an id of its own: a repeated one would get the stored answer.
std::string make_request(std::string_view call) {
  static int made = 0;
  const std::string body = fmt::format(R"({{"call":"call-{}",{},"channel":"hook","dialect":"claude"}})", ++made, call);
  return fmt::format(
      "POST /api/tool-calls HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
}

void check_allowed(std::string_view response) {
  if (!response.contains(R"("decision":"allow")")) fail(fmt::format("not allowed: {}", response));
}

double ask_ms(KeepAlive& agent, std::string_view call) {
  const std::string request = make_request(call);
  const auto start = steady_clock::now();
  const std::string_view response = agent.ask(request);
  const double took = ms_since(start);
  check_allowed(response);
  return took;
}

// A durable commit with Reeve's tables, without Reeve.
class Floor {
 public:
  explicit Floor(const fs::path& path) {
    store::open_writer({store::Place::Kind::file, path.string()}, base::SystemClock());
    commits_ = open_raw_sqlite(path.string());
  }
  double commit_ms() {
    const auto start = steady_clock::now();
    commits_->commit_one();
    return ms_since(start);
  }

 private:
  std::unique_ptr<RawCommits> commits_;
};

std::string figure(const std::vector<double>& times) { return fmt::format("{:.2f} ms", median(times)); }

std::string tail(const std::vector<double>& times) {
  return fmt::format("median of {}; p99 {:.2f} ms", times.size(), percentile(times, 0.99));
}

void measure_calls(const Place& place) {
  const Daemon daemon = open_daemon(place, "calls");
  const Agents agents(daemon, place.folder / "agents", 1);
  KeepAlive agent(agents.sockets().front());
  Floor floor(place.folder / "floor.db");
  std::vector<double> commits;
  std::vector<double> shell;
  std::vector<double> reads;
  for (int i = 0; i < calls_one_by_one; ++i) {
    commits.push_back(floor.commit_ms());
    shell.push_back(ask_ms(agent, shell_call));
    reads.push_back(ask_ms(agent, read_call));
  }
  row("floor: one durable commit", figure(commits), tail(commits));
  const auto show = [&](const std::string& what, const std::vector<double>& times) {
    row(what, figure(times),
        fmt::format("{:.2f} x the floor; {}; goal 2 x", median(times) / median(commits), tail(times)));
  };
  show("an allowed call: git status", shell);
  show("an allowed call: a file to read", reads);
}

double own_cpu_ms() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

// Each agent has one call open at any time. One thread serves all: its work per call is a few microseconds. Returns the
// time of each call.
std::vector<double> ask_at_once(std::vector<KeepAlive>& agents, int count) {
  std::vector<pollfd> polled;
  std::vector<steady_clock::time_point> begun(agents.size());
  int asked = 0;
  const auto ask = [&](std::size_t i) {
    ++asked;
    const std::string request = make_request(shell_call);
    begun[i] = steady_clock::now();
    agents[i].send(request);
  };
  for (std::size_t i = 0; i < agents.size(); ++i) {
    polled.push_back({.fd = agents[i].fd(), .events = POLLIN, .revents = 0});
    ask(i);
  }
  std::vector<double> times;
  while (std::ssize(times) < count) {
    constexpr int timeout_ms = 60'000;
    if (::poll(polled.data(), polled.size(), timeout_ms) <= 0) fail("the daemon does not answer");
    for (std::size_t i = 0; i < agents.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const auto response = agents[i].receive();
      if (!response) continue;
      times.push_back(ms_since(begun[i]));
      check_allowed(*response);
      if (asked < count) ask(i);
    }
  }
  return times;
}

void measure_many(const Place& place) {
  const Daemon daemon = open_daemon(place, "many");
  const Agents runs(daemon, place.folder / "agents", runs_at_once);
  std::vector<KeepAlive> agents;
  for (const std::string& socket : runs.sockets()) agents.emplace_back(fs::path(socket));
  Floor floor(place.folder / "floor.db");
  std::vector<double> commits;
  std::vector<double> rates;
  std::vector<double> times;
  double busy = 0;
  double own = 0;
  double all = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < calls_one_by_one; ++i) commits.push_back(floor.commit_ms());
    const double busy_before = cpu_ms(daemon.pid());
    const double own_before = own_cpu_ms();
    const auto start = steady_clock::now();
    const std::vector<double> took = ask_at_once(agents, calls_per_round);
    const double wall = ms_since(start);
    rates.push_back(calls_per_round / (wall / 1e3));
    times.insert(times.end(), took.begin(), took.end());
    busy += cpu_ms(daemon.pid()) - busy_before;
    own += own_cpu_ms() - own_before;
    all += wall;
  }
  row(fmt::format("allowed calls over {} runs at once", runs_at_once), fmt::format("{:.0f} /s", median(rates)),
      fmt::format("goal 5,000; commits one by one: {:.0f} /s", 1e3 / median(commits)));
  row("  one call among them", figure(times), tail(times));
  row("  CPU time of the daemon per call", fmt::format("{:.3f} ms", busy / (rounds * calls_per_round)),
      fmt::format("all threads; this client used {:.0f} % of one core", 100 * own / all));
}

// What Claude Code writes to its hook.
std::string make_hook_input(const fs::path& folder) {
  static int made = 0;
  return fmt::format(R"({{"hook_event_name":"PreToolUse","session_id":"s-1","cwd":"{}","tool_name":"Bash",)"
                     R"("tool_input":{{"command":"git status"}},"tool_use_id":"toolu_{}"}})",
                     folder.string(), ++made);
}

struct HookTimes {
  double floor = 0;
  double answered = 0;
  double exited = 0;
};

// Starts the hook in the environment of this process.
HookTimes run_hook(const std::string& reeve, const std::string& input) {
  os::Pipe in = os::make_pipe();
  os::Pipe out = os::make_pipe();
  // Fits into the pipe.
  if (!os::write_all(in.write.get(), input)) fail("the input of the hook");
  in.write = os::Fd();
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  const auto start = steady_clock::now();
  auto hook = os::spawn({.argv = {reeve, "hook", "claude"},
                         .environment = std::move(environment),
                         .input = in.read.get(),
                         .output = out.write.get()});
  if (!hook) fail("the hook does not start");
  out.write = os::Fd();
  std::array<char, 4'096> answer{};
  const ssize_t count = ::read(out.read.get(), answer.data(), answer.size());
  HookTimes times{.answered = ms_since(start)};
  const auto status = hook->wait();
  times.exited = ms_since(start);
  const std::string_view text(answer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  if (status.code != 0 || !text.contains(R"("permissionDecision":"allow")")) fail(fmt::format("the hook: {}", text));
  return times;
}

fs::path times_file(const fs::path& folder) { return folder / "hooks.times"; }

// As the tool of a run: the daemon refuses a process that names a run and is none of it.
int time_hooks(const fs::path& folder) {
  const std::string reeve = (own_program().parent_path() / "reeve").string();
  Floor floor(folder / "floor.db");
  std::ofstream file(times_file(folder));
  for (int i = 0; i < hooks; ++i) {
    const auto start = steady_clock::now();
    floor::run_captured({"/bin/true"});
    floor.commit_ms();
    const double floor_ms = ms_since(start);
    const HookTimes took = run_hook(reeve, make_hook_input(fs::current_path()));
    file << fmt::format("{} {} {}\n", floor_ms, took.answered, took.exited);
  }
  return file.flush() ? 0 : 1;
}

void measure_hooks(const Place& place) {
  const Daemon daemon = open_daemon(place, "hooks");
  const fs::path folder = place.folder / "agents";
  fs::create_directories(folder);
  client::Connection connection = daemon.connect();
  wait_completed(connection, start_run(connection, {.argv = {own_program().string(), "hooks", place.folder.string()},
                                                    .environment = {{"PATH", "/usr/bin:/bin"}},
                                                    .cwd = folder.string()}));
  std::vector<double> floors;
  std::vector<double> answered;
  std::vector<double> exited;
  std::ifstream file(times_file(place.folder));
  for (HookTimes one; file >> one.floor >> one.answered >> one.exited;) {
    floors.push_back(one.floor);
    answered.push_back(one.answered);
    exited.push_back(one.exited);
  }
  if (std::ssize(answered) != hooks) fail("hooks without times");
  row("floor: /bin/true and a durable commit", figure(floors), tail(floors));
  row("reeve hook claude, start to its allow", figure(answered),
      fmt::format("{:.2f} x the floor; {}; goal under 15", median(answered) / median(floors), tail(answered)));
  row("  until it has exited", figure(exited), tail(exited));
}

std::vector<Part> parts_of(const Place& place) {
  return {
      {"call", [place] { measure_calls(place); }},
      {"many", [place] { measure_many(place); }},
      {"hook", [place] { measure_hooks(place); }},
  };
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  const std::vector<std::string> words = bench::words_of(argc, argv, 1, "FOLDER [PART…]");
  if (words.size() == 2 && words[0] == "hooks") return bench::time_hooks(words[1]);
  const bench::Programs programs{.reeve = bench::own_program().parent_path() / "reeve"};
  bench::measure_parts(bench::parts_of({programs, std::filesystem::canonical(words[0])}),
                       {words.begin() + 1, words.end()});
}
