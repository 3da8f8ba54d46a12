#include "cli/demo/demo_project.h"

#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/stop_daemon.h"
#include "client/executions.h"
#include "client/runs.h"
#include "os/file.h"
#include "project/project.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;

using base::ErrorCode;
using base::Value;

constexpr std::size_t max_bytes = 64UL * 1024;
// The time for runs to end and for keepers to exit.
constexpr base::Milliseconds timeout = std::chrono::seconds(10);

constexpr std::string_view config = R"(# The demo's project: three tools, each a shell script in this folder.
tools:
  agent: {command: [/bin/sh, agent.sh, "{prompt}"], timeout: 2m, no_output_timeout: 20s}
  nightly: {command: [/bin/sh, nightly.sh], timeout: 2m}
  fixer: {command: [/bin/sh, fixer.sh, "{prompt}"], timeout: 2m}
roles:
  debugger: {tool: fixer, prompt: "Find the cause. {input}"}
  implementer: {tool: fixer, prompt: "Change as little as possible. {input}"}
gates:
  tests: {command: [/bin/sh, sum_test.sh], timeout: 1m}
)";

constexpr std::string_view agent =
    R"sh(# The demo's agent: a plain script that talks to Reeve the way an agent does. This is all of it.
set -eu
progress() { printf '{"event":"progress","percent":%s,"message":"%s"}\n' "$1" "$2"; }
heartbeat() { printf '{"event":"heartbeat"}\n'; }
nap() { sleep 0.3 2>/dev/null || sleep 1; }

# Reeve restarts the agent once its question is answered; the answer is in the environment.
if [ "${AUTO_APPROVAL:-}" = apply ]; then
  for file in greet.sh greet_test.sh README.md; do
    cp "staged/$file" "$file"
    echo "applied $file"
  done
  sh ./greet_test.sh
  exit 0
fi

echo "the task: $1"
progress 10 "reading greet.sh"
nap
heartbeat
nap
mkdir -p staged
progress 40 "writing greet.sh"
cat >staged/greet.sh <<'END'
# Greets the given name, or the world.
name=${1:-world}
echo "Hello, $name!"
END
nap
progress 60 "writing a test"
cat >staged/greet_test.sh <<'END'
# Fails when the greeting is wrong.
[ "$(sh ./greet.sh)" = "Hello, world!" ] && [ "$(sh ./greet.sh Ana)" = "Hello, Ana!" ] && echo "the test passes"
END
heartbeat
nap
progress 80 "writing README.md"
cat >staged/README.md <<'END'
# Greetings

`sh greet.sh` says hello to the world, `sh greet.sh NAME` to NAME.
END
nap
progress 90 "3 changes staged, none applied"

# To ask, a tool prints this line and exits with 90. None of its processes run while the question is pending.
printf '%s' '{"event":"approval_needed","question":"Apply these 3 changes?","default":"reject","approval_id":"apply",'
printf '%s' '"options":[{"value":"apply","label":"Apply them"},{"value":"reject","label":"Change nothing"}],'
printf '%s\n' '"expires_in_seconds":900}'
exit 90
)sh";

constexpr std::string_view nightly = R"(# A job of six steps.
for step in 1 2 3 4 5 6; do
  echo "step $step of 6"
  sleep 0.3 2>/dev/null || sleep 1
done
)";

constexpr std::string_view workflow = R"(# Look, fix, test; if the test fails, try again, at most three times.
id: fix
name: Fix it
entry_point: look
exit_points: [report]
nodes:
  - {id: look, type: task, task_config: {role: debugger, task_template: "What is wrong? {input}"}}
  - {id: mend, type: task, task_config: {role: implementer, task_template: "Fix it: {summary}"}}
  - {id: test, type: gate, gate_config: {gate_type: tests}}
  - id: again
    type: branch
    branch_config:
      condition: {field: test_status, operator: "==", value: passed, max_iterations: 3}
      on_true: report
      on_false: look
  - {id: report, type: task, task_config: {role: debugger, task_template: "Say what was done."}}
edges:
  - {id: e1, source: look, target: mend}
  - {id: e2, source: mend, target: test}
  - {id: e3, source: test, target: again}
  - {id: e4, source: again, target: report}
  - {id: e5, source: again, target: look, is_loop_edge: true}
)";

constexpr std::string_view fixer = R"sh(# Plays both agents of the workflow and fixes one bug at a time.
set -eu
case $REEVE_NODE_ID in
  look) sh ./sum_test.sh || true ;;
  mend)
    if grep -q -- '- ' sum.sh; then
      sed 's/- /+ /' sum.sh >sum.new && echo "the sign was wrong"
    else
      sed 's/\$1 + \$2/${1:-0} + ${2:-0}/' sum.sh >sum.new && echo "missing numbers now count as 0"
    fi
    mv sum.new sum.sh ;;
  report) echo "sum.sh adds" ;;
esac
)sh";

constexpr std::string_view sum_test =
    R"sh([ "$(sh ./sum.sh 2 3)" = 5 ] || { echo "2 and 3 make $(sh ./sum.sh 2 3)"; exit 1; }
[ "$(sh ./sum.sh 2>&1)" = 0 ] || { echo "it fails without numbers"; exit 1; }
echo "all tests pass"
)sh";

struct File {
  std::string_view name;
  std::string_view text;
};
constexpr File files[] = {
    {".reeve/config.yaml", config},
    {"agent.sh", agent},
    {"nightly.sh", nightly},
    {".reeve/workflows/fix.yaml", workflow},
    {"fixer.sh", fixer},
    {"sum.sh", "echo $(($1 - $2))\n"},
    {"sum_test.sh", sum_test},
    {"greet.sh", "# Greets the world.\necho \"Hello, world!\"\n"},
    {"README.md", "# Greetings\n\n`sh greet.sh` says hello to the world.\n"},
};

fs::path make_folder() {
  const std::string root = project::variable("TMPDIR").value_or("/tmp");
  std::string name = root + "/reeve-demo-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot create a folder in {}", base::quoted(root)),
                      errno, "use another location: TMPDIR=DIR reeve demo");
  }
  return fs::canonical(name);
}

Value make_environment() {
  Value environment = Value::object();
  for (const char* name : {"PATH", "HOME", "LANG"}) {
    const auto value = project::variable(name);
    if (value && !base::find_invalid_utf8(*value)) environment.set(name, Value::string(*value));
  }
  if (environment.find("PATH") == nullptr) environment.set("PATH", Value::string("/usr/bin:/bin"));
  return environment;
}

}  // namespace

DemoProject::DemoProject() : folder_(make_folder()) {
  try {
    os::create_folders(folder_ / ".reeve/workflows");
    for (const File& file : files) os::create_file(folder_ / file.name, file.text);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
}

DemoProject::~DemoProject() {
  try {
    if (!is_over_) remove();
  } catch (const std::exception&) {
    // The error that ended the demo early has been reported already.
  }
}

client::DaemonPlace DemoProject::place() const {
  client::DaemonPlace place{.folder = state(), .socket = state() / "reeve.sock"};
  // Only variables that the demo has set.
  place.variables = [] { return project::setting_variables(); };
  if (project::variable("REEVE_RUN_ID")) place.no_start = "clients inside a run do not start one";
  return place;
}

Value DemoProject::make_flow_request() const {
  Value request = Value::object();
  request.set("workflow", Value::string("fix"));
  request.set("project", Value::string(folder_.string()));
  request.set("environment", make_environment());
  return request;
}

Value DemoProject::make_run_request(std::string_view tool, std::string_view prompt) const {
  Value request = Value::object();
  request.set("argv", Value::array());
  request.set("tool", Value::string(tool));
  if (!prompt.empty()) request.set("prompt", Value::string(prompt));
  request.set("cwd", Value::string(folder_.string()));
  request.set("environment", make_environment());
  return request;
}

const std::vector<std::string>& DemoProject::changed_files() {
  static const std::vector<std::string> names = {"greet.sh", "greet_test.sh", "README.md"};
  return names;
}

std::string DemoProject::read_present(const std::string& file) const {
  return os::find_file(folder_ / file, max_bytes).value_or("");
}
std::string DemoProject::read_staged(const std::string& file) const {
  return os::find_file(folder_ / "staged" / file, max_bytes).value_or("");
}

void DemoProject::end_everything() {
  client::DaemonPlace place = this->place();
  place.no_start = "the demo is over";
  client::Daemon daemon(place);
  if (!daemon.is_running()) return;
  // Executions first, because they start runs.
  for (const auto& record : client::list_executions(daemon, {.statuses = {"running", "waiting_approval"}}, 10)) {
    client::cancel_execution(daemon, record.execution.execution_id, "the demo is over");
  }
  for (const auto& record : client::list_runs(daemon, {"queued", "running", "stalled", "waiting_approval"}, 10)) {
    client::cancel_run(daemon, record.run.tool_run_id, {.reason = "the demo is over", .kill = true});
    client::wait_run(daemon, record.run.tool_run_id, client::Until::final, timeout);
  }
  stop_daemon(place);
}

void DemoProject::keep() {
  is_over_ = true;
  end_everything();
}

void DemoProject::remove() {
  is_over_ = true;
  std::exception_ptr trouble;
  try {
    end_everything();
  } catch (const base::Error&) {
    trouble = std::current_exception();
  }
  const base::SystemClock clock;
  const base::BootTime deadline = clock.boot_now() + timeout;
  std::error_code error;
  // An exiting keeper may still create a file.
  while (fs::remove_all(folder_, error), error && clock.boot_now() < deadline) {
    static_cast<void>(::poll(nullptr, 0, 20));
  }
  if (trouble) std::rethrow_exception(trouble);
  if (error) {
    throw base::Error(ErrorCode::file_unwritable,
                      fmt::format("cannot remove {}: {}", base::quoted(folder_.string()), error.message()),
                      "remove it by hand");
  }
}

}  // namespace reeve::cli
