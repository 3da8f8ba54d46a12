#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "bench/daemon.h"
#include "bench/figures.h"
#include "bench/parts.h"
#include "os/file.h"
#include "os/spawn.h"
#include "store/store.h"

// `reeve` alone with a long history of many projects, as a person sees it: from the start of the program to its exit.
//   reeve_overview_bench FOLDER
namespace reeve::bench {
namespace {

namespace fs = std::filesystem;

using std::chrono::steady_clock;

constexpr int projects = 50;
constexpr int stored_runs = 100'000;
constexpr int runs_per_execution = 10;
constexpr int questions = 5;
constexpr int rounds = 101;

// Half of the runs belong to executions. One in ten failed; the newest is now, and one was started every minute.
void fill(const fs::path& database, const fs::path& home) {
  const auto session = store::open_writer({store::Place::Kind::file, database.string()}, base::SystemClock());
  session->begin();
  session->run_script(fmt::format(
      R"(INSERT INTO workflows (hash, workflow_id, name, version, definition, created_at)
VALUES ('sha256:bench', 'nightly', 'nightly', '1', '{{}}', '2026-01-01T00:00:00.000Z');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {executions})
INSERT INTO executions (workflow_hash, status, reason, config, started_at, completed_at, project)
SELECT 'sha256:bench', CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'completed' END,
  CASE WHEN i % 10 = 0 THEN 'gate "tests" did not pass' END,
  json_object('project', '{home}/project-' || (i % {projects}), 'settings', hex(zeroblob(1500))), at, at,
  '{home}/project-' || (i % {projects})
FROM (SELECT i, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (({executions} - i) * {step}) || ' minutes') AS at FROM n);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {runs})
INSERT INTO tool_runs (tool_name, execution, node_id, status, reason, exit_code, argv, cwd, started_at, completed_at,
  duration_ms, last_output_at, last_error, progress, usage, metadata, created_at, version, project)
SELECT 'claude', execution, CASE WHEN execution IS NOT NULL THEN 'node-' || i END, status,
  CASE status WHEN 'failed' THEN 'exit code 1' END, CASE status WHEN 'failed' THEN 1 ELSE 0 END,
  '["claude","-p","Look at issue ' || i || ' and fix it"]', project, at, at, 20125, at,
  CASE status WHEN 'failed' THEN 'error: no such file' END, '{{"percent":100.0,"message":"done"}}',
  '{{"input_tokens":12000,"output_tokens":3400,"cost_usd":0.12}}', '{{"issue":"' || i || '"}}', at, 2, project
FROM (SELECT i, CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'completed' END AS status,
    CASE WHEN (i - 1) % {step} < 10 THEN (i - 1) / {step} + 1 END AS execution, '{home}/project-' || (i % {projects}) AS project,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || ({runs} - i) || ' minutes') AS at FROM n);)",
      fmt::arg("executions", stored_runs / runs_per_execution / 2), fmt::arg("projects", projects),
      fmt::arg("runs", stored_runs), fmt::arg("step", 2 * runs_per_execution), fmt::arg("home", home.string())));
  session->commit();
}

// In the user's registry (src/project/registry.h).
int count_projects(const fs::path& registry) {
  constexpr std::size_t max_bytes = 16'384;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(registry)) {
    const auto text = os::find_file(entry.path(), max_bytes);
    count += text && text->contains("\nkind project\n") ? 1 : 0;
  }
  return count;
}

// Starts `reeve` at a terminal or on pipes, reads all of its output and returns the milliseconds until its end.
class Reeve {
 public:
  Reeve(fs::path program, const fs::path& home)
      : program_(std::move(program)), environment_{"PATH=/usr/bin:/bin", "HOME=" + home.string(), "TERM=xterm"} {}

  // From now on in this folder.
  void enter(const fs::path& folder) { folder_ = folder.string(); }

  double measure(const std::vector<std::string>& words, bool has_terminal = false) {
    const auto start = steady_clock::now();
    os::SpawnPlan plan{.argv = {program_.string()}, .environment = environment_, .folder = folder_};
    plan.argv.insert(plan.argv.end(), words.begin(), words.end());
    output_.clear();
    if (has_terminal) {
      const os::Pty terminal(50, 120);
      plan.terminal = terminal.slave();
      finish(plan, terminal.master().get());
    } else {
      os::Pipe pipe = os::make_pipe();
      plan.output = pipe.write.get();
      writing_ = std::move(pipe.write);
      finish(plan, pipe.read.get());
    }
    return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
  }
  const std::string& output() const noexcept { return output_; }

 private:
  void finish(const os::SpawnPlan& plan, int reading) {
    auto process = os::spawn(plan);
    if (!process) fail("reeve does not start");
    writing_ = os::Fd();
    std::array<char, 16'384> bytes{};
    ssize_t count = 0;
    while ((count = ::read(reading, bytes.data(), bytes.size())) > 0) {
      output_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    process->wait();
  }

  fs::path program_;
  std::vector<std::string> environment_;
  std::string folder_ = "/";
  os::Fd writing_;
  std::string output_;
};

void measure(const fs::path& folder, const Programs& programs) {
  const fs::path home = folder / "overview-home";
  const fs::path state = home / ".local/state/reeve";
  fs::create_directories(home);
  Reeve reeve(programs.reeve, home);
  // Reeve accepts only a state folder that it made, and registers each project with the first run in it.
  for (int i = 0; i < projects; ++i) {
    const fs::path project = home / fmt::format("project-{}", i);
    fs::create_directories(project / ".reeve");
    reeve.enter(project);
    reeve.measure({"run", "--", "/bin/true"});
  }
  reeve.measure({"stop"});
  if (const int known = count_projects(state / "known"); known < projects) {
    fail(fmt::format("{} of {} projects are registered", known, projects));
  }
  fill(state / "reeve.db", home);
  const std::string tool = (programs.reeve.parent_path() / "reeve_approval_tool").string();
  for (int i = 0; i < questions; ++i) reeve.measure({"run", "--detach", "--", tool, (home / "answer").string()});
  while (reeve.measure({"approvals"}) > 0 && std::ranges::count(reeve.output(), '\n') < questions) {
  }
  std::vector<double> version;
  std::vector<double> ids;
  int missed = 0;
  std::vector<double> table;
  std::vector<double> screen;
  for (int i = 0; i < rounds; ++i) {
    version.push_back(reeve.measure({"version"}));
    ids.push_back(reeve.measure({"completion", "ids", "AP", "TR"}));
    if (std::ranges::count(reeve.output(), '\n') < questions) ++missed;
    table.push_back(reeve.measure({}));
    screen.push_back(reeve.measure({}, true));
  }
  if (!reeve.output().contains("Go on?")) fail("the overview does not show the question: " + reeve.output());
  row("floor: reeve version", fmt::format("{:.1f} ms", median(version)), "start and exit of the program");
  row(fmt::format("reeve alone, {} projects, {} runs", projects, stored_runs), fmt::format("{:.1f} ms", median(screen)),
      fmt::format("at a terminal; p90 {:.1f} ms; goal under 20", percentile(screen, 0.9)));
  row("  into a pipe", fmt::format("{:.1f} ms", median(table)), "");
  row("completion of ids", fmt::format("{:.1f} ms", median(ids)),
      fmt::format("p90 {:.1f} ms; goal under 50; {} of {} offered none", percentile(ids, 0.9), missed, rounds));
  reeve.measure({"stop"});
  std::error_code ignored;
  fs::remove_all(home, ignored);
}

}  // namespace
}  // namespace reeve::bench

int main(int argc, char** argv) {
  using namespace reeve::bench;
  const std::vector<std::string> words = words_of(argc, argv, 1, "FOLDER");
  measure(std::filesystem::absolute(words[0]), {own_program().parent_path() / "reeve"});
}
