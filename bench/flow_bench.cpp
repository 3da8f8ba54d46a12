#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/parts.h"
#include "bench/raw_commits.h"
#include "bench/run_floor.h"
#include "os/file.h"
#include "store/store.h"

// Executions through the whole daemon, over its API, compared with raw commits to the same store and plain program
// starts. Floor and Reeve alternate. Steps with the role `noop` take the path of every step: claimed, decided and
// concluded in the store, with all their events; only no process is started.
//   reeve_flow_bench FOLDER STORE [PART…]   parts: chain chains true waiting large; default: all
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::steady_clock;

constexpr int rounds = 5;

struct Place {
  Programs programs;
  std::string tool;
  fs::path folder;
  bool is_sqlite = true;
};

double seconds_of(const std::function<void()>& work) {
  const auto start = steady_clock::now();
  work();
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string header(const std::string& name, const std::string& entry, int parallel) {
  return fmt::format("id: {0}\nname: {0}\nentry_point: {1}\nconfig: {{isolation: none, max_parallel_nodes: {2}}}\n",
                     name, entry, parallel);
}

std::string task(int number, const std::string& role) {
  return fmt::format("  - {{id: n{}, type: task, task_config: {{role: {}}}}}\n", number, role);
}

std::string chain(int length, const std::string& role) {
  std::string nodes;
  std::string edges;
  for (int i = 0; i < length; ++i) {
    nodes += task(i, role);
    if (i > 0) edges += fmt::format("  - {{id: e{0}, source: n{1}, target: n{0}}}\n", i, i - 1);
  }
  return header(fmt::format("chain-{}", length), "n0", 4) + "nodes:\n" + nodes + "edges:\n" + edges;
}

// One node, then `width` parallel nodes, then one that waits for all of them.
std::string fan(int width, int parallel, const std::string& role) {
  std::string nodes = task(0, role);
  std::string edges;
  for (int i = 1; i <= width; ++i) {
    nodes += task(i, role);
    edges += fmt::format("  - {{id: a{0}, source: n0, target: n{0}}}\n", i);
    edges += fmt::format("  - {{id: b{0}, source: n{0}, target: last}}\n", i);
  }
  nodes += fmt::format("  - {{id: last, type: task, wait_for_incoming: all, task_config: {{role: {}}}}}\n", role);
  return header(fmt::format("fan-{}", width), "n0", parallel) + "nodes:\n" + nodes + "edges:\n" + edges;
}

void write_config(const fs::path& project, const std::string& text) {
  fs::create_directories(project / ".reeve");
  os::replace_file(project / ".reeve" / "config.yaml", text);
}

// A project and its daemon.
struct Stage {
  Stage(const Place& place, const std::string& name, const std::string& config)
      : project(prepare(place.folder / name, config)), daemon(place.programs, project / ".reeve" / "state") {}
  static fs::path prepare(fs::path project, const std::string& config) {
    write_config(project, config);
    return project;
  }
  fs::path project;
  Daemon daemon;
};

class Floor {
 public:
  explicit Floor(const Place& place) {
    if (place.is_sqlite) {
      const std::string path = (place.folder / "flow-floor.db").string();
      store::open_writer({store::Place::Kind::file, path}, base::SystemClock());
      raw_ = open_raw_sqlite(path);
    } else {
      raw_ = open_raw_postgresql(place.programs.store);
    }
  }
  double per_second(int total) {
    return total / seconds_of([&] {
             for (int i = 0; i < total; ++i) raw_->commit_one();
           });
  }
  void commit_one() { raw_->commit_one(); }

 private:
  std::unique_ptr<RawCommits> raw_;
};

void measure_chain(const Place& place) {
  constexpr int length = 1'000;
  const Stage stage(place, "chain", "{}\n");
  Floor floor(place);
  client::Connection connection = stage.daemon.connect();
  const std::string yaml = chain(length, "noop");
  std::vector<double> raw;
  std::vector<double> steps;
  for (int round = 0; round < rounds; ++round) {
    raw.push_back(floor.per_second(300));
    steps.push_back(length /
                    seconds_of([&] { wait_execution(connection, start_execution(connection, yaml, stage.project)); }));
  }
  row("raw commits, one by one", fmt::format("{:.0f}/s", median(raw)), "floor");
  row(fmt::format("a chain of {} durable steps", length), fmt::format("{:.0f} steps/s", median(steps)),
      fmt::format("{:.2f} x the floor; goal 0.35", median(steps) / median(raw)));
}

void measure_chains(const Place& place) {
  constexpr int count = 100;
  constexpr int length = 20;
  const Stage stage(place, "chains", "{}\n");
  client::Connection connection = stage.daemon.connect();
  const std::string yaml = chain(length, "noop");
  std::vector<double> steps;
  for (int round = 0; round < rounds; ++round) {
    steps.push_back(count * length / seconds_of([&] {
                      std::vector<base::ExecutionId> started;
                      std::mutex mutex;
                      {
                        std::vector<std::jthread> threads;
                        for (int i = 0; i < 4; ++i) {
                          threads.emplace_back([&] {
                            client::Connection own = stage.daemon.connect();
                            for (int k = 0; k < count / 4; ++k) {
                              const base::ExecutionId id = start_execution(own, yaml, stage.project);
                              const std::lock_guard lock(mutex);
                              started.push_back(id);
                            }
                          });
                        }
                      }
                      for (const base::ExecutionId id : started) wait_execution(connection, id);
                    }));
  }
  row(fmt::format("{} chains of {}, started over the API", count, length), fmt::format("{:.0f} steps/s", median(steps)),
      place.is_sqlite ? "goal 8000, aim 30000" : "goal 3000, aim 10000");
}

// The minimum for a durable supervisor: two commits and one program start per step, four in parallel.
void measure_true(const Place& place) {
  constexpr int width = 400;
  constexpr int at_once = 4;
  const Stage stage(place, "true", "tools: {true: {command: [/bin/true]}}\nroles: {nothing: {tool: \"true\"}}\n");
  Floor floor(place);
  client::Connection connection = stage.daemon.connect();
  const std::string yaml = fan(width, at_once, "nothing");
  std::mutex mutex;
  std::vector<double> floors;
  std::vector<double> runs;
  for (int round = 0; round < rounds; ++round) {
    floors.push_back(width / seconds_of([&] {
                       std::vector<std::jthread> threads;
                       for (int i = 0; i < at_once; ++i) {
                         threads.emplace_back([&] {
                           const auto commit = [&] {
                             const std::lock_guard lock(mutex);
                             floor.commit_one();
                           };
                           for (int k = 0; k < width / at_once; ++k) {
                             commit();
                             floor::run_captured({"/bin/true"});
                             commit();
                           }
                         });
                       }
                     }));
    runs.push_back((width + 2) /
                   seconds_of([&] { wait_execution(connection, start_execution(connection, yaml, stage.project)); }));
  }
  row("/bin/true as the task, four in parallel", fmt::format("{:.0f} steps/s", median(runs)),
      fmt::format("{:.2f} x the floor ({:.0f}/s); goal 0.3", median(runs) / median(floors), median(floors)));
}

std::int64_t now_ns() { return steady_clock::now().time_since_epoch().count(); }

void measure_waiting(const Place& place) {
  constexpr int count = 10'000;
  constexpr int answers = 100;
  const std::string stamp = (place.folder / "next.stamp").string();
  const Stage stage(place, "waiting",
                    fmt::format("tools: {{stamp: {{command: [{}, {}, now]}}}}\nroles: {{next: {{tool: stamp}}}}\n",
                                place.tool, stamp));
  client::Connection connection = stage.daemon.connect();
  const std::string yaml =
      header("waits", "ask", 4) +
      "nodes:\n  - {id: ask, type: human, human_config: {title: \"go on?\"}}\n"
      "  - {id: next, type: task, task_config: {role: next}}\nedges:\n  - {id: e, source: ask, target: next}\n";
  std::vector<base::ExecutionId> all = {start_execution(connection, yaml, stage.project)};
  wait_node_question(connection, all.front());
  const std::int64_t before = pss_kib(stage.daemon.pid());
  const double took = seconds_of([&] {
    for (int i = 1; i < count; ++i) all.push_back(start_execution(connection, yaml, stage.project));
  });
  // Wait until the store is idle: it frees its caches after a poll without work.
  std::this_thread::sleep_for(std::chrono::seconds(7));
  const std::int64_t after = pss_kib(stage.daemon.pid());
  row(fmt::format("{} executions waiting for a person", count),
      fmt::format("{:+.1f} MiB", static_cast<double>(after - before) / 1'024),
      fmt::format("PSS {:.1f}; {} processes; started at {:.0f}/s", static_cast<double>(after) / 1'024,
                  count_children(stage.daemon.pid()), count / took));
  std::vector<double> delays;
  for (int i = 0; i < answers; ++i) {
    const base::ExecutionId one = all[static_cast<std::size_t>(i) * 97];
    const base::ApprovalId question = wait_node_question(connection, one);
    const std::int64_t sent = now_ns();
    approve(connection, question);
    wait_execution(connection, one);
    const std::string text = os::read_file(stamp, 64);
    delays.push_back(static_cast<double>(std::strtoll(text.c_str(), nullptr, 10) - sent) / 1e6);
  }
  row("  from an approval to the next step's main", fmt::format("{:.2f} ms", median(delays)),
      fmt::format("p99 {:.2f}; goal 20 at the median", percentile(delays, 0.99)));
}

void measure_large(const Place& place) {
  const Stage stage(place, "large", "{}\n");
  client::Connection connection = stage.daemon.connect();
  const auto per_node = [&](int nodes) {
    const std::string yaml = fan(nodes - 2, 16, "noop");
    return seconds_of([&] { wait_execution(connection, start_execution(connection, yaml, stage.project)); }) * 1e6 /
           nodes;
  };
  std::vector<double> small;
  std::vector<double> large;
  for (int round = 0; round < rounds; ++round) {
    double sum = 0;
    constexpr int times = 20;
    for (int i = 0; i < times; ++i) sum += per_node(100);
    small.push_back(sum / times);
    large.push_back(per_node(5'000));
  }
  row("one execution of 5,000 nodes, per node", fmt::format("{:.0f} us", median(large)),
      fmt::format("{:.2f} x that of 100 nodes ({:.0f} us); goal 1.5", median(large) / median(small), median(small)));
}

std::vector<Part> parts_of(const Place& place) {
  return {
      {"chain", [place] { measure_chain(place); }}, {"chains", [place] { measure_chains(place); }},
      {"true", [place] { measure_true(place); }},   {"waiting", [place] { measure_waiting(place); }},
      {"large", [place] { measure_large(place); }},
  };
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve;
  const std::vector<std::string> words = bench::words_of(argc, argv, 2, "FOLDER STORE [PART…]");
  const std::filesystem::path bin = bench::own_program().parent_path();
  bench::measure_parts(bench::parts_of({{bin / "reeve", words[1]},
                                        (bin / "reeve_approval_tool").string(),
                                        std::filesystem::absolute(words[0]),
                                        words[1] == "sqlite"}),
                       {words.begin() + 2, words.end()});
}
