#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/row.h"
#include "ledger/unit.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/workflow.h"
#include "store/foreign_file.h"
#include "wire/import_record.h"

// State shared by the parts of an import: its transaction, the mapping from old rows to new ones, and the report.
namespace reeve::import {

// The source of an imported row, for references: several tables may use the same ids.
enum class OldKind { uet_execution, uet_run, graph_execution, pipeline, tool_run, approval, patch, task, audit_event };

class ImportContext {
 public:
  // `rows`: the number of rows of each table by name. Must outlive the context.
  ImportContext(ledger::Transaction& transaction, store::ForeignFile& file, std::int64_t import,
                const std::map<std::string, std::int64_t>& rows)
      : transaction_(transaction), file_(file), import_(import), rows_(rows) {}

  ledger::Transaction& transaction() noexcept { return transaction_; }
  store::Session& session() noexcept { return transaction_.session(); }
  store::ForeignFile& file() noexcept { return file_; }
  base::WallTime now() { return transaction_.now(); }
  std::int64_t rows_of(const store::ForeignTable& table) const;

  // Call before writing a row. Throws `import.too_large` beyond a limit: a small file may expand to many rows.
  void count_written();
  // Counts a row under a name for people: "runs".
  void take(std::string_view kind) { ++kinds_[find_kind(kind)].taken; }
  void skip(std::string_view kind, std::string_view reason, std::int64_t rows = 1);
  void note(std::string text);
  // Non-empty cells that are not a valid time.
  std::int64_t odd_times = 0;
  // Notes the columns of the table that were not imported.
  void note_unused(const store::ForeignTable& table, const Columns& columns);

  // The id of the row if it has one and no earlier row had it; otherwise counts the row as skipped.
  std::optional<std::string> new_id(std::string_view word, OldKind kind, const OldRow& row, Column column);
  void remember(OldKind kind, const std::string& old_id, std::int64_t number);
  std::optional<std::int64_t> find(OldKind kind, const std::optional<std::string>& old_id);
  // Finds an execution of any source.
  std::optional<std::int64_t> find_execution(const std::optional<std::string>& old_id);

  // "tool_runs:17", the origin that imported records name.
  static std::string origin(const store::ForeignTable& table, std::string_view old_id);

  // The counts and notes so far.
  wire::ImportRecord report();

 private:
  std::size_t find_kind(std::string_view kind);

  ledger::Transaction& transaction_;
  store::ForeignFile& file_;
  std::int64_t import_;
  const std::map<std::string, std::int64_t>& rows_;
  std::int64_t written_ = 0;
  std::vector<wire::ImportKind> kinds_;
  std::vector<std::string> notes_;
};

// A finished node.
struct OldNode {
  std::string node_id;
  model::NodeType type = model::NodeType::task;
  model::NodeStatus status = model::NodeStatus::cancelled;
  std::optional<base::Value> inputs;
  std::optional<base::Value> outputs;
  std::optional<std::string> error;
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> approval;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
};

// A finished execution without its nodes, because their runs and approvals refer to it.
struct OldExecution {
  std::string workflow_hash;
  std::string origin;
  std::optional<std::string> label;
  std::optional<std::string> phase_name = {};
  std::map<std::string, std::string> metadata = {};
  model::ExecutionStatus status = model::ExecutionStatus::failed;
  std::optional<std::string> reason;
  base::Value inputs = base::Value::object();
  std::int64_t failed_nodes = 0;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
};
std::int64_t insert_execution(ImportContext& context, const OldExecution& execution);
void insert_node(ImportContext& context, std::int64_t execution, std::size_t position, const OldNode& node);

// Stores the workflow and returns its hash.
std::string store_workflow(ImportContext& context, const model::Workflow& workflow);

// A task node that cannot be started.
model::Node make_task_node(std::string id, const std::optional<std::string>& label);

// An approval that was decided or has expired.
struct OldApproval {
  model::ApprovalKind kind = model::ApprovalKind::question;
  model::Delivery delivery = model::Delivery::rerun;
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> execution;
  std::optional<std::int64_t> node;
  std::optional<std::string> node_id;
  std::optional<std::string> tool_name;
  std::string old_id;
  std::optional<base::Value> arguments;
  std::string question;
  std::vector<model::ApprovalOption> options;
  std::optional<std::string> default_value;
  // A pending approval is imported as expired.
  model::ApprovalStatus status = model::ApprovalStatus::expired;
  std::optional<std::string> chosen_value;
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  std::optional<base::WallTime> created_at;
  std::optional<base::WallTime> decided_at;
  std::optional<base::WallTime> expires_at;
};
std::int64_t insert_approval(ImportContext& context, const OldApproval& approval);
// The approvals table, under either of its names; null if there is none.
const store::ForeignTable* find_approvals(const store::ForeignFile& file);
bool has_column(const store::ForeignTable& table, std::string_view name);

// One part each. A missing table counts as empty.
void import_workflows(ImportContext& context);
void import_uet_executions(ImportContext& context);
void import_graph_executions(ImportContext& context);
void import_pipelines(ImportContext& context);
void import_tool_runs(ImportContext& context);
void import_approvals(ImportContext& context);
void import_patches(ImportContext& context);
void import_tasks(ImportContext& context);
void import_audit_events(ImportContext& context);

}  // namespace reeve::import
