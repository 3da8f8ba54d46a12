#include "bench/daemon.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "bench/parts.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::bench {

namespace {

namespace fs = std::filesystem;

using base::Value;

Value ask(client::Connection& connection, const client::Request& question) {
  try {
    const client::Response answer = connection.ask(question);
    auto document = json::parse(answer.body);
    if (answer.status >= 400 || !document) fail(fmt::format("{}: {}", question.target, answer.body));
    return std::move(*document);
  } catch (const client::ConnectionLost& lost) {
    fail(fmt::format("{}: {}", question.target, lost.what));
  }
}

std::string text_of(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  return found != nullptr && found->as_string() != nullptr ? *found->as_string() : std::string();
}

base::RunId id_of(const Value& document) {
  const auto id = base::RunId::parse(text_of(document, "tool_run_id"));
  if (!id) fail("response without a run id");
  return *id;
}

std::string wait_final(client::Connection& connection, base::RunId run) {
  while (true) {
    const Value record = ask(connection, {.target = fmt::format("/api/runs/{}/wait?timeout=60s", run.text())});
    const std::string status = text_of(record, "status");
    const auto known = base::find_enum<model::RunStatus>(status);
    if (known && is_final(*known)) return status;
  }
}

os::Process start(const Programs& programs, const fs::path& state) {
  fs::create_directories(state);
  auto process =
      os::spawn({.argv = {programs.reeve.string(), "serve", "--state", state.string(), "--store", programs.store},
                 .environment = {"PATH=/usr/bin:/bin", "HOME=" + state.string()}});
  if (!process) fail("reeve does not start");
  return std::move(*process);
}

}  // namespace

Daemon::Daemon(const Programs& programs, fs::path state, Leaves leaves)
    : state_(std::move(state)), leaves_(leaves), process_(start(programs, state_)) {
  connect();
}

Daemon::~Daemon() {
  process_.signal(SIGTERM);
  process_.wait();
  if (leaves_ == Leaves::state) return;
  std::error_code ignored;
  fs::remove_all(state_, ignored);
}

client::Connection Daemon::connect() const {
  // The daemon may not have opened its socket yet.
  for (int i = 0; i < 1'000; ++i) {
    try {
      return client::Connection(state_ / "reeve.sock");
    } catch (const client::ConnectionLost&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  fail("the daemon does not answer");
}

base::RunId start_run(client::Connection& connection, const RunRequest& options) {
  Value::Array argv;
  for (const std::string& word : options.argv) argv.push_back(Value::string(word));
  Value environment = Value::object();
  for (const auto& [name, value] : options.environment) environment.set(name, Value::string(value));
  Value body = Value::object();
  body.set("argv", Value::array(std::move(argv)));
  body.set("cwd", Value::string(options.cwd));
  body.set("environment", std::move(environment));
  body.set("mode", Value::string(options.mode));
  return id_of(ask(connection, {.method = "POST",
                                .target = "/api/runs",
                                .body = json::encode(body),
                                .headers = {{"Content-Type", "application/json"}}}));
}

void wait_completed(client::Connection& connection, base::RunId run) {
  const std::string status = wait_final(connection, run);
  if (status != "completed") fail(fmt::format("{} is {}", run.text(), status));
}

void wait_over(client::Connection& connection, base::RunId run) { wait_final(connection, run); }

void cancel_run(client::Connection& connection, base::RunId run) {
  ask(connection, {.method = "POST",
                   .target = fmt::format("/api/runs/{}/cancel", run.text()),
                   .body = R"({"kill":true})",
                   .headers = {{"Content-Type", "application/json"}}});
}

std::vector<base::RunId> list_runs(client::Connection& connection, model::RunStatus status) {
  std::vector<base::RunId> runs;
  std::string cursor;
  do {
    const Value page = ask(connection, {.target = fmt::format("/api/runs?limit=500&status={}{}", base::spell(status),
                                                              cursor.empty() ? "" : "&cursor=" + cursor)});
    const Value* items = page.find("items");
    if (items == nullptr || items->as_array() == nullptr) fail("listing without items");
    for (const Value& item : *items->as_array()) runs.push_back(id_of(item));
    cursor = text_of(page, "next_cursor");
  } while (!cursor.empty());
  return runs;
}

base::ApprovalId wait_question(client::Connection& connection, base::RunId run) {
  while (
      text_of(ask(connection, {.target = fmt::format("/api/runs/{}/wait?through_approvals=0&timeout=60s", run.text())}),
              "status") != "waiting_approval") {
  }
  const Value page = ask(connection, {.target = fmt::format("/api/approvals?run={}&status=pending", run.text())});
  const Value* items = page.find("items");
  if (items == nullptr || items->as_array() == nullptr || items->as_array()->empty())
    fail("the run has no pending approval");
  const auto id = base::ApprovalId::parse(text_of(items->as_array()->front(), "approval_id"));
  if (!id) fail("response without an approval id");
  return *id;
}

void approve(client::Connection& connection, base::ApprovalId id) {
  ask(connection, {.method = "POST",
                   .target = fmt::format("/api/approvals/{}/approve", id.text()),
                   .body = "{}",
                   .headers = {{"Content-Type", "application/json"}}});
}

base::ExecutionId start_execution(client::Connection& connection, const std::string& yaml, const fs::path& project) {
  Value body = Value::object();
  body.set("source", Value::string(yaml));
  body.set("project", Value::string(project.string()));
  const Value record = ask(connection, {.method = "POST",
                                        .target = "/api/executions",
                                        .body = json::encode(body),
                                        .headers = {{"Content-Type", "application/json"}}});
  const auto id = base::ExecutionId::parse(text_of(record, "execution_id"));
  if (!id) fail("response without an execution id");
  return *id;
}

void wait_execution(client::Connection& connection, base::ExecutionId execution) {
  while (true) {
    const Value record =
        ask(connection, {.target = fmt::format("/api/executions/{}/wait?timeout=60s&outputs=0", execution.text())});
    const std::string status = text_of(record, "status");
    if (status == "completed") return;
    if (status == "failed" || status == "cancelled") fail(fmt::format("{} is {}", execution.text(), status));
  }
}

base::ApprovalId wait_node_question(client::Connection& connection, base::ExecutionId execution) {
  return wait_node_questions(connection, execution, 1).front();
}

std::vector<base::ApprovalId> wait_node_questions(client::Connection& connection, base::ExecutionId execution,
                                                  std::size_t count) {
  while (true) {
    const Value record =
        ask(connection,
            {.target = fmt::format("/api/executions/{}/wait?timeout=60s&through_approvals=0", execution.text())});
    const Value* nodes = record.find("nodes");
    if (nodes == nullptr || nodes->as_array() == nullptr) fail("execution without nodes");
    std::vector<base::ApprovalId> asked;
    for (const Value& node : *nodes->as_array()) {
      const auto id = base::ApprovalId::parse(text_of(node, "approval_id"));
      if (id && text_of(node, "status") == "waiting_approval") asked.push_back(*id);
    }
    if (asked.size() >= count) return asked;
    // Other nodes still run.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::size_t list_pending(client::Connection& connection, int limit) {
  const Value page = ask(connection, {.target = fmt::format("/api/approvals?limit={}", limit)});
  const Value* items = page.find("items");
  return items != nullptr && items->as_array() != nullptr ? items->as_array()->size() : 0;
}

std::size_t count_threads(pid_t pid) {
  const fs::directory_iterator tasks(os::proc_path(pid, "task"));
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

std::size_t count_children(pid_t pid) {
  std::size_t count = 0;
  for (const pid_t other : os::list_processes()) {
    const auto stat = os::read_process_stat(other);
    if (stat && stat->parent == pid) ++count;
  }
  return count;
}

std::int64_t pss_kib(pid_t pid) {
  constexpr std::string_view name = "\nPss:";
  const std::string text = os::read_pseudo_file(os::proc_path(pid, "smaps_rollup").c_str());
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + name.size(), nullptr, 10);
}

double cpu_ms(pid_t pid) {
  const auto stat = os::read_process_stat(pid);
  if (!stat) fail("the daemon has exited");
  return static_cast<double>(stat->cpu_ticks) * 1'000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::int64_t context_switches(pid_t pid) {
  std::int64_t sum = 0;
  for (const auto& task : fs::directory_iterator(os::proc_path(pid, "task"))) {
    const std::string text = os::read_pseudo_file((task.path() / "status").c_str());
    for (const std::string_view name : {"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:"}) {
      const std::size_t at = text.find(name);
      if (at != std::string::npos) sum += std::strtoll(text.c_str() + at + name.size(), nullptr, 10);
    }
  }
  return sum;
}

}  // namespace reeve::bench
