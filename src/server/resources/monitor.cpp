#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "json/encode.h"
#include "os/usage.h"
#include "runtime/metrics/metrics_text.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/problem.h"

// /metrics and /readyz, for monitoring. docs/METRICS.md lists every metric.
namespace reeve::server {

namespace {

using base::ErrorCode;
using base::Value;
using runtime::MetricsText;
using runtime::StoreFigures;
using std::chrono::duration;
using Type = MetricsText::Type;
using StoreAnswer = std::expected<StoreFigures, base::Error>;

// Beyond this delay the daemon responds, but not reliably in time.
constexpr base::Milliseconds longest_loop_delay = std::chrono::seconds(1);

double seconds(duration<double> time) { return time.count(); }

// The measurements that must be waited for.
struct Sight {
  StoreAnswer store = std::unexpected(base::Error(ErrorCode::store_unavailable, "not asked yet"));
  // How long a task waited in the queue.
  std::chrono::nanoseconds loop_delay{0};
};

void look(SharedExchange exchange, const std::function<void(const Sight&)>& then) {
  runtime::Daemon& daemon = exchange->daemon;
  daemon.loop().post([exchange, then, &daemon, asked_at = daemon.loop().now()] {
    const auto delay = daemon.loop().now() - asked_at;
    daemon.store_watch().ask([then, delay](const StoreAnswer& store) { then({store, delay}); });
  });
}

template <base::DescribedEnum E, class Wanted>
void write_counters(MetricsText& text, std::string_view label, const runtime::CountersBy<E>& counters, Wanted wanted) {
  for (const auto& [word, name] : base::names_of<E>()) {
    if (wanted(word)) text.sample({{label, name}}, static_cast<double>(counters.get(word)));
  }
}

template <base::DescribedEnum E, class Wanted>
void write_levels(MetricsText& text, std::string_view label, const std::map<E, std::int64_t>& levels, Wanted wanted) {
  for (const auto& [word, name] : base::names_of<E>()) {
    const auto found = levels.find(word);
    if (wanted(word)) text.sample({{label, name}}, found != levels.end() ? static_cast<double>(found->second) : 0);
  }
}

constexpr auto is_run_over = [](model::RunStatus status) { return is_final(status); };
constexpr auto is_run_alive = [](model::RunStatus status) { return !is_final(status); };
constexpr auto is_execution_over = [](model::ExecutionStatus status) { return is_over(status); };
constexpr auto is_execution_alive = [](model::ExecutionStatus status) { return !is_over(status); };
constexpr auto is_decided = [](model::ApprovalStatus status) { return is_final(status); };
constexpr auto is_step_over = [](model::NodeStatus status) { return is_over(status); };
constexpr auto is_any = [](auto) { return true; };

// Metrics read from the store. Left out while it does not answer, because stale values would look current.
void write_stored(MetricsText& text, const StoreAnswer& store) {
  text.gauge("reeve_store_up", "1 when the store answered within two seconds.", store ? 1 : 0);
  if (!store) return;
  text.begin("reeve_runs", Type::gauge, "Unfinished runs by status, for all daemons of the store.");
  write_levels(text, "status", store->runs, is_run_alive);
  text.begin("reeve_executions", Type::gauge, "Unfinished executions by status, for all daemons of the store.");
  write_levels(text, "status", store->executions, is_execution_alive);
  text.gauge("reeve_approvals_pending", "Pending approvals, for all daemons of the store.",
             static_cast<double>(store->pending_approvals));
  text.gauge("reeve_approvals_oldest_pending_seconds", "Age of the oldest pending approval; 0 without one.",
             seconds(store->oldest_pending));
  text.gauge("reeve_events_last_number", "Number of the last event in the store.",
             static_cast<double>(store->last_event));
}

void write_work(MetricsText& text, runtime::Daemon& daemon) {
  const runtime::Meters& meters = daemon.meters();
  text.begin("reeve_runs_ended_total", Type::counter, "Runs that reached a final status.");
  write_counters(text, "status", meters.runs_ended, is_run_over);
  text.histogram("reeve_run_duration_seconds", "Time from the start of a run to its end, including waits for people.",
                 meters.run_seconds);
  text.gauge("reeve_runs_held", "Runs whose processes this daemon supervises.",
             static_cast<double>(daemon.supervisor().live_runs()));
  text.gauge("reeve_keepers_waiting", "Started keepers without a run.", static_cast<double>(daemon.waiting_keepers()));
  text.begin("reeve_decisions_total", Type::counter, "Approvals that were decided or expired.");
  write_counters(text, "outcome", meters.decisions, is_decided);
  text.begin("reeve_executions_ended_total", Type::counter, "Executions that ended.");
  write_counters(text, "status", meters.executions_ended, is_execution_over);
  text.begin("reeve_steps_total", Type::counter, "Workflow steps that ended.");
  write_counters(text, "status", meters.steps, is_step_over);
}

void write_store(MetricsText& text, runtime::Daemon& daemon) {
  const runtime::Meters& meters = daemon.meters();
  text.counter("reeve_commits_total", "Transactions that changed something.",
               static_cast<double>(meters.commits.get()));
  text.histogram("reeve_commit_group_units", "Units of work per commit.", meters.commit_units);
  text.histogram("reeve_commit_duration_seconds", "Time from the start of a commit until it was durable.",
                 meters.commit_seconds);
  text.gauge("reeve_store_queue_units", "Units of work waiting for the store.",
             static_cast<double>(daemon.ledger().waiting()));
  text.begin("reeve_events_total", Type::counter, "Events that this daemon committed.");
  write_counters(text, "event", meters.events, is_any);
  text.histogram("reeve_event_delivery_seconds", "Time from the commit of events until their followers are notified.",
                 meters.event_delivery_seconds);
  const runtime::EventHub::Figures hub = daemon.events().figures();
  text.gauge("reeve_event_clients", "Clients that follow events.", static_cast<double>(hub.clients));
  text.counter("reeve_event_clients_cut_total", "Clients disconnected because they did not read.",
               static_cast<double>(hub.clients_cut));
  text.counter("reeve_event_lines_dropped_total", "Output lines dropped because a client read too slowly.",
               static_cast<double>(hub.lines_dropped));
  text.gauge("reeve_event_waiting_bytes", "Bytes queued for all event clients.",
             static_cast<double>(hub.waiting_bytes));
  text.gauge("reeve_event_lag_events", "Events by which the slowest client lags behind.",
             static_cast<double>(hub.lag_events));
}

void write_http(MetricsText& text, const runtime::Meters& meters) {
  struct RunSocket {
    std::string_view name;
    const runtime::HttpMeters& meters;
  };
  const std::array doors = {RunSocket{"api", meters.api}, RunSocket{"run", meters.run_sockets}};
  constexpr auto classes = std::to_array<std::string_view>({"other", "1xx", "2xx", "3xx", "4xx", "5xx"});
  text.begin("reeve_http_requests_total", Type::counter, "Requests that were answered, by the class of their status.");
  for (const RunSocket& door : doors) {
    // From 2xx on: other classes are not complete responses.
    for (std::size_t i = 2; i < classes.size(); ++i) {
      text.sample({{"door", door.name}, {"code", classes[i]}}, static_cast<double>(door.meters.answers[i].get()));
    }
  }
  text.begin("reeve_http_connections", Type::gauge, "Open connections.");
  for (const RunSocket& door : doors) {
    text.sample({{"door", door.name}}, static_cast<double>(door.meters.connections.get()));
  }
}

void write_process(MetricsText& text, runtime::Daemon& daemon, const Sight& sight) {
  const base::WallTime now = base::SystemClock().wall_now();
  text.begin("reeve_build_info", Type::gauge, "Always 1; version and kind of store.");
  text.sample({{"version", REEVE_VERSION}, {"store", daemon.store_kind()}}, 1);
  text.gauge("reeve_uptime_seconds", "Time since the daemon started.",
             std::max(seconds(now - daemon.started_at()), 0.0));
  text.gauge("reeve_loop_queue_tasks", "Tasks queued on the event loop.", static_cast<double>(daemon.loop().waiting()));
  text.gauge("reeve_loop_delay_seconds", "How long a task just waited in the event loop's queue.",
             seconds(sight.loop_delay));
  const os::Usage usage = os::read_own_usage();
  text.gauge("reeve_memory_proportional_bytes", "Memory, with shared pages counted proportionally (PSS).",
             static_cast<double>(usage.proportional_bytes));
  text.gauge("reeve_threads", "Threads of the daemon.", static_cast<double>(usage.threads));
  text.gauge("process_resident_memory_bytes", "Memory in use (RSS).", static_cast<double>(usage.resident_bytes));
  text.gauge("process_virtual_memory_bytes", "Address space in use.", static_cast<double>(usage.virtual_bytes));
  text.counter("process_cpu_seconds_total", "Processor time used.", usage.cpu_seconds);
  text.gauge("process_open_fds", "Open descriptors.", static_cast<double>(usage.open_files));
  text.gauge("process_max_fds", "Limit of open descriptors.", static_cast<double>(usage.max_open_files));
  text.gauge("process_start_time_seconds", "Start time of the daemon, in seconds since 1970.",
             seconds(daemon.started_at().time_since_epoch()));
}

void metrics(SharedExchange exchange) {
  look(exchange, [exchange](const Sight& sight) {
    MetricsText text;
    write_process(text, exchange->daemon, sight);
    write_stored(text, sight.store);
    write_work(text, exchange->daemon);
    write_store(text, exchange->daemon);
    write_http(text, exchange->daemon.meters());
    exchange->send({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = text.take()});
  });
}

struct Check {
  std::string_view name;
  // The problem; empty if the check passed.
  std::string problem;
};

Value list_checks(const std::vector<Check>& checks) {
  Value::Array list;
  for (const Check& check : checks) {
    Value one = Value::object();
    one.set("name", Value::string(check.name));
    one.set("status", Value::string(check.problem.empty() ? "ok" : "failed"));
    if (!check.problem.empty()) one.set("message", Value::string(check.problem));
    list.push_back(std::move(one));
  }
  return Value::array(std::move(list));
}

void ready(SharedExchange exchange) {
  look(exchange, [exchange](Sight sight) {
    if (const auto refusal = exchange->daemon.check_files()) sight.store = std::unexpected(*refusal);
    const bool is_late = sight.loop_delay > longest_loop_delay;
    const std::vector<Check> checks = {
        {"recovery", exchange->daemon.is_recovered() ? "" : "recovery of the previous daemon's runs is not finished"},
        {"store", sight.store ? "" : sight.store.error().message()},
        {"loop", is_late ? fmt::format("a task waited {:.1f} s in the event loop", seconds(sight.loop_delay)) : ""}};
    std::string wrong;
    for (const Check& check : checks) {
      if (!check.problem.empty())
        wrong += fmt::format("{}{}: {}", wrong.empty() ? "" : "; ", check.name, check.problem);
    }
    if (wrong.empty()) {
      Value document = Value::object();
      document.set("status", Value::string("ready"));
      document.set("checks", list_checks(checks));
      return exchange->send(200, document);
    }
    const auto refusal = exchange->daemon.check_files();
    const base::Error error(ErrorCode::daemon_not_ready, std::move(wrong),
                            refusal ? refusal->fix() : "try again in a moment");
    Value document = wire::problem_document(error);
    document.set("checks", list_checks(checks));
    exchange->send({.status = wire::http_status(error),
                    .content_type = "application/problem+json",
                    .body = json::encode(document)});
  });
}

}  // namespace

std::vector<Operation> monitor_operations(json::Schemas& schemas) {
  const Value look = json::object_schema({{"name", json::word_schema({"recovery", "store", "loop"})},
                                          {"status", json::word_schema({"ok", "failed"})},
                                          {"message", json::string_schema()}},
                                         {"name", "status"});
  const Value readiness = json::object_schema(
      {{"status", json::word_schema({"ready"})}, {"checks", json::array_schema(schemas.add("ReadinessCheck", look))}},
      {"status", "checks"});
  return {
      {.method = "GET",
       .path = "/readyz",
       .handle = ready,
       .name = "getReadiness",
       .inside = InRunAccess::anyone,
       .summary = "Report whether the daemon can work: recovery is complete, the store responds, the loop is not stuck",
       .replies = {{200, schemas.add("Readiness", readiness)}},
       .errors = {ErrorCode::daemon_not_ready}},
      {.method = "GET",
       .path = "/metrics",
       .handle = metrics,
       .name = "getMetrics",
       .inside = InRunAccess::refused,
       .summary = "Metrics in the Prometheus text format, listed in docs/METRICS.md",
       .replies = {{200, json::string_schema(), "text/plain"}}}};
}

}  // namespace reeve::server
