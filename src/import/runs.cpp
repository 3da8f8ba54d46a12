#include <limits>
#include <map>

#include <fmt/format.h>

#include "import/context.h"
#include "import/status.h"
#include "json/describe.h"
#include "json/encode.h"

// uet_executions (S1, and with S2's columns) and tool_runs (S1).
namespace reeve::import {

namespace {

using base::Value;
using store::ForeignTable;
using store::Sql;

constexpr std::string_view only_node = "work";
constexpr std::size_t max_metadata = 64;

struct OldRun {
  std::string tool_name;
  std::optional<std::int64_t> execution;
  std::optional<std::string> node_id;
  OldEnd end = OldEnd::unfinished;
  std::optional<int> exit_code;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
  std::optional<base::WallTime> last_output_at;
  std::optional<base::WallTime> last_heartbeat_at;
  std::optional<std::string> last_error;
  std::map<std::string, std::string> metadata;
};

std::optional<std::string> format(const std::optional<base::WallTime>& time) {
  return time ? std::optional(base::format_time(*time)) : std::nullopt;
}

// The latest known time.
std::optional<base::WallTime> last_sign(const OldRun& run) {
  std::optional<base::WallTime> last = run.started_at;
  for (const auto& time : {run.last_output_at, run.last_heartbeat_at}) {
    if (time && (!last || *time > *last)) last = time;
  }
  return last;
}

std::int64_t insert_run(ImportContext& context, const OldRun& run) {
  const RunEnd end = run_end(run.end, run.exit_code);
  const auto ended = run.completed_at ? run.completed_at : last_sign(run);
  const base::WallTime over = ended.value_or(context.now());
  context.count_written();
  std::optional<std::int64_t> duration;
  if (run.started_at && run.completed_at && *run.completed_at >= *run.started_at) {
    duration = (*run.completed_at - *run.started_at).count();
  }
  return context.session().insert(Sql::import_run, "tool_runs",
                                  {{"tool_name", run.tool_name},
                                   {"execution", run.execution},
                                   {"node_id", run.node_id},
                                   {"status", end.status},
                                   {"reason", end.reason},
                                   {"exit_code", run.exit_code},
                                   {"started_at", format(run.started_at)},
                                   {"completed_at", base::format_time(over)},
                                   {"duration_ms", duration},
                                   {"last_output_at", format(run.last_output_at)},
                                   {"last_heartbeat_at", format(run.last_heartbeat_at)},
                                   {"last_error", run.last_error},
                                   {"metadata", json::encode(json::to_value(run.metadata))},
                                   {"created_at", base::format_time(run.started_at.value_or(over))}});
}

// Strings unchanged, other values as JSON; at most so many.
std::map<std::string, std::string> read_metadata(const OldRow& row, Column column) {
  std::map<std::string, std::string> metadata;
  if (const auto object = row.object(column)) {
    for (const base::Member& member : *object->as_object()) {
      if (metadata.size() >= max_metadata) break;
      const std::string* text = member.value.as_string();
      metadata.insert_or_assign(member.key, text != nullptr ? *text : json::encode(member.value));
    }
  }
  return metadata;
}

// Metadata, because a run has no other member for its origin.
std::map<std::string, std::string> read_metadata(const OldRow& row, Column column, const std::string& origin) {
  auto metadata = read_metadata(row, column);
  metadata.insert_or_assign("imported_from", origin);
  return metadata;
}

std::optional<int> read_exit_code(const OldRow& row, Column column) {
  const auto code = row.integer(column);
  const bool fits = code && *code >= std::numeric_limits<int>::min() && *code <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(*code)) : std::nullopt;
}

struct ExecutionColumns {
  explicit ExecutionColumns(Columns& columns)
      : id(columns.pick({"execution_id", "id"})),
        phase(columns.pick({"phase_name"})),
        status(columns.pick({"status"})),
        started(columns.pick({"started_at"})),
        completed(columns.pick({"completed_at"})),
        metadata(columns.pick({"metadata"})),
        tool(columns.pick({"tool_name"})),
        output(columns.pick({"last_output_at"})),
        heartbeat(columns.pick({"last_heartbeat_at"})),
        error(columns.pick({"last_error", "last_error_msg"})) {}
  Column id, phase, status, started, completed, metadata, tool, output, heartbeat, error;
};

model::Workflow make_phase(const std::optional<std::string>& phase) {
  model::Workflow workflow;
  workflow.id = "imported";
  workflow.name = phase.value_or("imported");
  workflow.nodes.push_back(make_task_node(std::string(only_node), phase));
  workflow.entry_point = only_node;
  return workflow;
}

// With S2's columns a row describes both the execution and its only run.
void take_execution(ImportContext& context, const ForeignTable& table, const ExecutionColumns& columns,
                    const OldRow& row) {
  const auto id = context.new_id("executions", OldKind::uet_execution, row, columns.id);
  if (!id) return;
  const auto word = row.name(columns.status);
  const auto end = word ? find_old_end(*word) : std::nullopt;
  if (!end) return context.skip("executions", describe_unknown(word));
  const std::string origin = ImportContext::origin(table, *id);
  const auto tool = row.name(columns.tool);
  OldRun run;
  run.end = *end;
  run.started_at = row.time(columns.started, context.odd_times);
  run.completed_at = row.time(columns.completed, context.odd_times);
  run.last_output_at = row.time(columns.output, context.odd_times);
  run.last_heartbeat_at = row.time(columns.heartbeat, context.odd_times);
  run.last_error = row.text(columns.error);
  const auto phase = row.name(columns.phase);
  const ExecutionEnd whole = execution_end(*end, run.last_error);
  const NodeEnd node = node_end(*end, run.last_error, whole.status);
  OldExecution execution{.workflow_hash = store_workflow(context, make_phase(phase ? phase : tool)),
                         .origin = origin,
                         .label = *id,
                         .phase_name = phase,
                         .metadata = read_metadata(row, columns.metadata),
                         .status = whole.status,
                         .reason = whole.reason,
                         .inputs = row.object(columns.metadata).value_or(Value::object()),
                         .failed_nodes = node.status == model::NodeStatus::failed ? 1 : 0,
                         .started_at = run.started_at,
                         .completed_at = run.completed_at ? run.completed_at : last_sign(run)};
  const std::int64_t number = insert_execution(context, execution);
  context.remember(OldKind::uet_execution, *id, number);
  context.take("executions");
  OldNode work{.node_id = std::string(only_node),
               .type = model::NodeType::task,
               .status = node.status,
               .inputs = {},
               .outputs = {},
               .error = node.error,
               .run = {},
               .approval = {},
               .started_at = run.started_at,
               .completed_at = execution.completed_at};
  if (tool) {
    run.tool_name = *tool;
    run.execution = number;
    run.node_id = only_node;
    run.metadata = read_metadata(row, columns.metadata, origin);
    work.run = insert_run(context, run);
    context.remember(OldKind::uet_run, *id, *work.run);
    context.take("runs");
  }
  insert_node(context, number, 0, work);
}

struct RunColumns {
  explicit RunColumns(Columns& columns)
      : id(columns.pick({"tool_run_id", "id"})),
        tool(columns.pick({"tool_name"})),
        execution(columns.pick({"execution_id"})),
        status(columns.pick({"status"})),
        exit_code(columns.pick({"exit_code"})),
        started(columns.pick({"started_at"})),
        completed(columns.pick({"completed_at"})),
        output(columns.pick({"last_output_at"})),
        heartbeat(columns.pick({"last_heartbeat_at"})),
        error(columns.pick({"last_error_msg", "last_error"})),
        metadata(columns.pick({"metadata"})) {}
  Column id, tool, execution, status, exit_code, started, completed, output, heartbeat, error, metadata;
};

void take_run(ImportContext& context, const ForeignTable& table, const RunColumns& columns, const OldRow& row) {
  const auto id = context.new_id("runs", OldKind::tool_run, row, columns.id);
  if (!id) return;
  const auto word = row.name(columns.status);
  const auto end = word ? find_old_end(*word) : std::nullopt;
  if (!end) return context.skip("runs", describe_unknown(word));
  OldRun run;
  run.tool_name = row.name(columns.tool).value_or("imported");
  const auto execution = row.id(columns.execution);
  run.execution = context.find_execution(execution);
  run.end = *end;
  run.exit_code = read_exit_code(row, columns.exit_code);
  run.started_at = row.time(columns.started, context.odd_times);
  run.completed_at = row.time(columns.completed, context.odd_times);
  run.last_output_at = row.time(columns.output, context.odd_times);
  run.last_heartbeat_at = row.time(columns.heartbeat, context.odd_times);
  run.last_error = row.text(columns.error);
  run.metadata = read_metadata(row, columns.metadata, ImportContext::origin(table, *id));
  // If the execution is not in the file, only its name is kept.
  if (execution && !run.execution) run.metadata.insert_or_assign("execution_id", *execution);
  context.remember(OldKind::tool_run, *id, insert_run(context, run));
  context.take("runs");
}

}  // namespace

void import_uet_executions(ImportContext& context) {
  const ForeignTable* table = context.file().find("uet_executions");
  if (table == nullptr) return;
  Columns columns(*table);
  const ExecutionColumns picked(columns);
  context.note_unused(*table, columns);
  context.file().scan(*table,
                      [&](const store::ForeignRow& row) { take_execution(context, *table, picked, OldRow(row)); });
}

void import_tool_runs(ImportContext& context) {
  const ForeignTable* table = context.file().find("tool_runs");
  if (table == nullptr) return;
  Columns columns(*table);
  const RunColumns picked(columns);
  context.note_unused(*table, columns);
  context.file().scan(*table, [&](const store::ForeignRow& row) { take_run(context, *table, picked, OldRow(row)); });
}

}  // namespace reeve::import
