#include "import/context.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "ledger/workflows.h"
#include "spec/workflow_file.h"

namespace reeve::import {

namespace {

using base::ErrorCode;
using base::Value;
using store::Row;
using store::Sql;

// The order in the report.
constexpr auto order_of_kinds =
    std::to_array<std::string_view>({"workflows", "executions", "nodes", "loop_counters", "pipelines", "steps", "runs",
                                     "approvals", "patches", "tasks", "audit_events"});
constexpr std::size_t max_reasons = 20;
constexpr std::size_t max_notes = 100;
constexpr std::size_t max_named = 12;
constexpr std::int64_t nodes_per_execution = 1 << 20;

std::string_view word_of(OldKind kind) {
  switch (kind) {
    case OldKind::uet_execution:
      return "uet_execution";
    case OldKind::uet_run:
      return "uet_run";
    case OldKind::graph_execution:
      return "graph_execution";
    case OldKind::pipeline:
      return "pipeline";
    case OldKind::tool_run:
      return "tool_run";
    case OldKind::approval:
      return "approval";
    case OldKind::patch:
      return "patch";
    case OldKind::task:
      return "task";
    case OldKind::audit_event:
      return "audit_event";
  }
  return "";
}

std::optional<std::string> format(const std::optional<base::WallTime>& time) {
  return time ? std::optional(base::format_time(*time)) : std::nullopt;
}

std::optional<std::string> encode(const std::optional<Value>& value) {
  return value ? std::optional(json::encode(*value)) : std::nullopt;
}

}  // namespace

std::size_t ImportContext::find_kind(std::string_view kind) {
  const auto found = std::ranges::find(kinds_, kind, &wire::ImportKind::kind);
  if (found != kinds_.end()) return static_cast<std::size_t>(found - kinds_.begin());
  kinds_.push_back({.kind = std::string(kind), .taken = 0, .skipped = 0, .reasons = {}});
  return kinds_.size() - 1;
}

std::int64_t ImportContext::rows_of(const store::ForeignTable& table) const {
  const auto found = rows_.find(table.name);
  return found != rows_.end() ? found->second : 0;
}

void ImportContext::count_written() {
  constexpr std::int64_t most = 2'000'000;
  if (++written_ <= most) return;
  throw base::Error(ErrorCode::import_too_large, fmt::format("the import would write more than {} rows", most),
                    "nothing was imported; delete unneeded rows from a copy and import that");
}

void ImportContext::skip(std::string_view kind, std::string_view reason, std::int64_t rows) {
  if (rows <= 0) return;
  wire::ImportKind& counted = kinds_[find_kind(kind)];
  counted.skipped += rows;
  auto found = std::ranges::find(counted.reasons, reason, &wire::ImportSkip::reason);
  if (found == counted.reasons.end()) {
    // A file may have as many reasons as rows.
    const bool is_last = counted.reasons.size() + 1 >= max_reasons;
    const std::string_view told = is_last ? "other reasons" : reason;
    found = std::ranges::find(counted.reasons, told, &wire::ImportSkip::reason);
    if (found == counted.reasons.end()) {
      found = counted.reasons.insert(found, {.reason = std::string(told), .rows = 0});
    }
  }
  found->rows += rows;
}

void ImportContext::note(std::string text) {
  if (notes_.size() < max_notes && std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

void ImportContext::note_unused(const store::ForeignTable& table, const Columns& columns) {
  std::vector<std::string> names;
  for (const std::string& name : columns.unused()) names.push_back(base::quoted(name.substr(0, longest_old_id)));
  if (names.empty()) return;
  const bool is_cut = names.size() > max_named;
  if (is_cut) names.resize(max_named);
  note(fmt::format("{}: columns not imported: {}{}", base::quoted(table.name), fmt::join(names, ", "),
                   is_cut ? ", …" : ""));
}

std::optional<std::string> ImportContext::new_id(std::string_view word, OldKind kind, const OldRow& row,
                                                 Column column) {
  auto id = row.id(column);
  if (!id) {
    skip(word, row.bytes(column) > longest_old_id ? "its id is too long" : "it has no id");
    return std::nullopt;
  }
  if (find(kind, id)) {
    skip(word, "another row has the same id");
    return std::nullopt;
  }
  return id;
}

void ImportContext::remember(OldKind kind, const std::string& old_id, std::int64_t number) {
  session().write_any(Sql::imported_row_insert,
                      {{"import", import_}, {"kind", word_of(kind)}, {"old_id", old_id}, {"number", number}});
}

std::optional<std::int64_t> ImportContext::find(OldKind kind, const std::optional<std::string>& old_id) {
  std::optional<std::int64_t> found;
  if (!old_id) return found;
  session().query(Sql::imported_row_find, {{"import", import_}, {"kind", word_of(kind)}, {"old_id", *old_id}},
                  [&](const Row& row) { found = row.integer(0); });
  return found;
}

std::optional<std::int64_t> ImportContext::find_execution(const std::optional<std::string>& old_id) {
  for (const OldKind kind : {OldKind::uet_execution, OldKind::graph_execution}) {
    if (const auto found = find(kind, old_id)) return found;
  }
  return std::nullopt;
}

std::string ImportContext::origin(const store::ForeignTable& table, std::string_view old_id) {
  return fmt::format("{}:{}", base::to_ascii_lower(table.name), old_id);
}

wire::ImportRecord ImportContext::report() {
  if (odd_times > 0) note(fmt::format("{} timestamps could not be read and were left out", odd_times));
  wire::ImportRecord record;
  record.kinds = kinds_;
  std::ranges::sort(record.kinds, {}, [](const wire::ImportKind& kind) {
    return std::ranges::find(order_of_kinds, kind.kind) - order_of_kinds.begin();
  });
  record.notes = notes_;
  return record;
}

std::int64_t insert_execution(ImportContext& context, const OldExecution& execution) {
  const auto completed = execution.completed_at ? execution.completed_at : execution.started_at;
  const base::WallTime over = completed.value_or(context.now());
  context.count_written();
  Value config = Value::object();
  config.set("imported_from", Value::string(execution.origin));
  return context.session().insert(Sql::import_execution, "executions",
                                  {{"workflow_hash", execution.workflow_hash},
                                   {"label", execution.label},
                                   {"phase_name", execution.phase_name},
                                   {"metadata", json::encode(json::to_value(execution.metadata))},
                                   {"status", execution.status},
                                   {"reason", execution.reason},
                                   {"inputs", json::encode(execution.inputs)},
                                   {"config", json::encode(config)},
                                   {"nodes_failed", execution.failed_nodes},
                                   {"started_at", base::format_time(execution.started_at.value_or(over))},
                                   {"completed_at", base::format_time(over)}});
}

void insert_node(ImportContext& context, std::int64_t execution, std::size_t position, const OldNode& node) {
  context.count_written();
  const auto at = static_cast<std::int64_t>(position);
  const bool has_begun =
      node.started_at || node.status == model::NodeStatus::completed || node.status == model::NodeStatus::failed;
  context.session().write_any(Sql::import_node, {{"slot", execution * nodes_per_execution + at},
                                                 {"execution", execution},
                                                 {"node", at},
                                                 {"node_id", node.node_id},
                                                 {"type", node.type},
                                                 {"status", node.status},
                                                 {"attempt", has_begun ? 1 : 0},
                                                 {"inputs", encode(node.inputs)},
                                                 {"outputs", encode(node.outputs)},
                                                 {"error", node.error},
                                                 {"run", node.run},
                                                 {"approval", node.approval},
                                                 {"started_at", format(node.started_at)},
                                                 {"completed_at", format(node.completed_at)}});
}

std::string store_workflow(ImportContext& context, const model::Workflow& workflow) {
  context.count_written();
  const std::string hash = spec::hash_content(workflow);
  ledger::Workflows::put(context.session(), hash, workflow, context.transaction().now_text());
  return hash;
}

model::Node make_task_node(std::string id, const std::optional<std::string>& label) {
  model::Node node;
  node.id = std::move(id);
  node.label = label;
  node.task_config.emplace().role = "imported";
  return node;
}

}  // namespace reeve::import
