#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "cli/advice.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/help.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/approvals.h"
#include "client/executions.h"
#include "client/patches.h"
#include "client/runs.h"
#include "project/project.h"
#include "view/overview_text.h"

namespace reeve::cli {

namespace {

// Older failures are not shown.
constexpr auto failure_is_news = std::chrono::hours(24);
constexpr std::size_t failures_shown = 10;
constexpr std::size_t failures_looked_at = 200;
constexpr std::size_t live_shown = 500;

// Imported records are history, however recent the import.
bool is_imported(const model::Execution& execution) {
  return execution.config && execution.config->find("imported_from") != nullptr;
}
bool is_imported(const model::Patch& patch) {
  return !patch.history.empty() && patch.history.front().reason.value_or("").starts_with("imported from ");
}

// A failed run of a node is handled by its workflow, which retries it, takes another branch, or fails and is shown
// itself.
bool is_news(const model::Run& run, base::WallTime now) {
  const bool is_old = run.completed_at && now - *run.completed_at > failure_is_news;
  return !is_old && !run.seen_at && !run.metadata.contains("imported_from") && !(run.execution_id && run.node_id);
}

// The path of the only project to show.
using OnlyProject = std::optional<std::string>;

std::vector<client::RunRecord> find_runs(client::Daemon& daemon, const OnlyProject& project, base::WallTime now) {
  auto records = client::list_runs(daemon, {"waiting_approval", "stalled", "running", "queued"}, live_shown, project);
  std::ranges::move(client::find_runs(daemon, {"failed", "failed_timeout"}, project,
                                      {.wanted = failures_shown,
                                       .searched = failures_looked_at,
                                       .is_wanted = [now](const model::Run& run) { return is_news(run, now); }}),
                    std::back_inserter(records));
  return records;
}

// A waiting execution is represented by its questions or those of its subgraphs; one without any question is listed
// itself, by its root execution.
std::vector<client::ExecutionRecord> find_unasked(client::Daemon& daemon, const OnlyProject& project,
                                                  const std::vector<model::Approval>& approvals) {
  auto waiting = client::list_executions(daemon, {.statuses = {"waiting_approval"}, .project = project}, live_shown);
  std::set<base::ExecutionId> asked;
  for (const model::Approval& approval : approvals) {
    if (approval.execution_id) asked.insert(*approval.execution_id);
  }
  // Newest first, so that a subgraph comes before the execution that started it.
  for (const client::ExecutionRecord& record : waiting) {
    const auto& parent = record.execution.parent;
    if (parent && asked.contains(record.execution.execution_id)) asked.insert(parent->execution_id);
  }
  std::erase_if(waiting, [&](const client::ExecutionRecord& record) {
    return record.execution.parent || asked.contains(record.execution.execution_id);
  });
  return waiting;
}

std::vector<client::ExecutionRecord> find_executions(client::Daemon& daemon, const OnlyProject& project,
                                                     const std::vector<model::Approval>& approvals,
                                                     base::WallTime now) {
  std::vector<client::ExecutionRecord> records = find_unasked(daemon, project, approvals);
  for (client::ExecutionRecord& record :
       client::list_executions(daemon, {.statuses = {"running"}, .project = project}, live_shown)) {
    // Subgraphs are paused and resumed with the root execution.
    if (record.execution.paused_at && !record.execution.parent) records.push_back(std::move(record));
  }
  std::size_t count = 0;
  for (client::ExecutionRecord& record :
       client::list_executions(daemon, {.statuses = {"failed"}, .project = project}, failures_looked_at)) {
    if (count == failures_shown) break;
    const auto& completed = record.execution.completed_at;
    const bool is_old = completed && now - *completed > failure_is_news;
    // A failure of a subgraph is shown once, by its root execution.
    if (is_old || record.execution.seen_at || record.execution.parent) continue;
    // Listings do not include the origin.
    if (is_imported(client::get_execution(daemon, record.execution.execution_id, client::NodeText::brief).execution)) {
      continue;
    }
    records.push_back(std::move(record));
    ++count;
  }
  return records;
}

// Patches that could not be applied and are still unapplied.
std::vector<client::PatchRecord> find_patches(client::Daemon& daemon, const OnlyProject& project, base::WallTime now) {
  auto records =
      client::list_patches(daemon, {.states = {"conflicted", "apply_failed"}, .project = project}, failures_shown);
  std::erase_if(records, [&](const client::PatchRecord& record) {
    const auto& history = record.patch.history;
    return (!history.empty() && now - history.back().at > failure_is_news) || is_imported(record.patch);
  });
  return records;
}

// A failed run of a listed execution is not shown separately.
bool is_told(const model::Run& run, const std::vector<model::Execution>& executions) {
  const bool has_failed = run.status == model::RunStatus::failed || run.status == model::RunStatus::failed_timeout;
  return has_failed && run.execution_id && std::ranges::any_of(executions, [&](const model::Execution& execution) {
           return execution.execution_id == *run.execution_id;
         });
}

// `daemon` tells zero counts of a running daemon from zero counts without one.
base::Value make_document(const view::NewsCounts& counts, base::Value::Array items, bool has_daemon) {
  const auto number = [](std::size_t count) { return base::Value::integer(static_cast<std::int64_t>(count)); };
  base::Value told = base::Value::object();
  told.set("waiting_approval", number(counts.waiting_approval));
  told.set("stalled", number(counts.stalled));
  told.set("failed", number(counts.failed));
  told.set("paused", number(counts.paused));
  told.set("running", number(counts.running));
  told.set("queued", number(counts.queued));
  told.set("not_applied", number(counts.not_applied));
  base::Value document = base::Value::object();
  document.set("daemon", base::Value::boolean(has_daemon));
  document.set("counts", std::move(told));
  document.set("items", base::Value::array(std::move(items)));
  return document;
}

// The records of such a folder are elsewhere, and other daemons use them too.
bool has_other_store(const project::StateFolder& folder) try {
  const project::FoundConfig found = project::load_config_of(folder);
  return found.loaded && found.loaded->config().store != model::Config().store;
} catch (const base::Error&) {
  // A daemon could not read the config either.
  return false;
}

// Whether something may be waiting there: a daemon has run in the folder before, or its store is not in it.
bool is_used(const client::DaemonPlace& place) {
  if (place.host) return true;
  const project::StateFolder folder{.root = place.folder};
  std::error_code ignored;
  return std::filesystem::exists(folder.lock(), ignored) || has_other_store(folder);
}

// Starts the daemon of a folder that is used. An unused folder has nothing to show, so no daemon is started for it.
std::optional<client::Daemon> find_daemon(const Call& call) {
  try {
    client::DaemonPlace place = daemon_place(call);
    const bool may_start = is_used(place);
    client::Daemon daemon(std::move(place));
    if (may_start || daemon.is_running()) return daemon;
  } catch (const base::Error& error) {
    // Without a state folder there is no daemon either.
    if (!error.is(base::ErrorCode::cli_no_state_folder)) throw;
  }
  return std::nullopt;
}

// What one daemon has to report, and its records for `--json`.
struct Findings {
  view::News news;
  base::Value::Array wire;
};

Findings collect(client::Daemon& daemon, const OnlyProject& project, base::WallTime now) {
  Findings found;
  view::News& news = found.news;
  for (client::ApprovalRecord& record : client::list_approvals(daemon, {.project = project}, live_shown)) {
    news.approvals.push_back(std::move(record.approval));
    found.wire.push_back(std::move(record.wire));
  }
  for (client::ExecutionRecord& record : find_executions(daemon, project, news.approvals, now)) {
    news.executions.push_back(std::move(record.execution));
    found.wire.push_back(std::move(record.wire));
  }
  for (client::RunRecord& record : find_runs(daemon, project, now)) {
    // A waiting run is represented by its question.
    if (view::waits_for(record.run, news.approvals) || is_told(record.run, news.executions)) continue;
    news.runs.push_back(std::move(record.run));
    found.wire.push_back(std::move(record.wire));
  }
  for (client::PatchRecord& record : find_patches(daemon, project, now)) {
    news.patches.push_back(std::move(record.patch));
    found.wire.push_back(std::move(record.wire));
  }
  return found;
}

void put_own_first(view::News& news, const Scope& scope) {
  scope.put_own_first(news.approvals);
  scope.put_own_first(news.executions);
  scope.put_own_first(news.runs);
  scope.put_own_first(news.patches);
}

}  // namespace

ExitCode show_overview(const Call& call) {
  const Scope scope(call);
  auto daemon = find_daemon(call);
  const base::WallTime now = base::SystemClock().wall_now();
  std::vector<view::News> parts;
  base::Value::Array wire;
  if (daemon && !scope.other_state()) {
    Findings found = collect(*daemon, scope.find_path(*daemon), now);
    put_own_first(found.news, scope);
    parts.push_back(std::move(found.news));
    wire = std::move(found.wire);
  }
  const std::size_t left_out = add_more_sources(call, scope, Stopped::started, [&](Source& source) {
    Findings found = collect(source.daemon, std::nullopt, now);
    found.news.prefix = source.prefix;
    parts.push_back(std::move(found.news));
    for (base::Value& record : found.wire) wire.push_back(mark_source(std::move(record), source));
  });
  if (call.is_json) {
    print_json(call, make_document(view::count_news(parts), std::move(wire), !parts.empty()));
  } else if (parts.empty() && left_out > 0) {
    print_aside("nothing else to show: no other daemon has run for you\n");
  } else if (parts.empty()) {
    fmt::print("{}", welcome(project::find_project(".").has_value(), call.out));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", view::overview_table(parts, call.out).for_pipe());
  } else {
    const view::Overview overview = view::make_overview(parts, call.out, now);
    fmt::print("{}\n", overview.text);
    std::vector<model::Approval> asked;
    for (const view::News& news : parts) asked.insert(asked.end(), news.approvals.begin(), news.approvals.end());
    print_advice(call, asked);
    if (daemon) print_port_problem(*daemon);
    print_next(call, overview.next.empty() ? "reeve runs" : overview.next);
  }
  return ExitCode::done;
}

}  // namespace reeve::cli
