#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/audit_check.h"
#include "ledger/ledger.h"
#include "model/task.h"
#include "runtime/loop/loop.h"
#include "runtime/runs/idempotency.h"
#include "store/approvals.h"
#include "store/executions.h"
#include "store/patches.h"
#include "store/projects.h"
#include "store/runs.h"
#include "store/tasks.h"
#include "store/tool_calls.h"
#include "wire/pipeline_record.h"

namespace reeve::runtime {

struct AuditEntry {
  std::int64_t seq = 0;
  std::string at;
  std::string kind;
  std::string actor;
  // JSON, unless it was tampered with.
  std::string data;
  std::string previous;
  std::string hash;
};

struct ExecutionHistory : store::ExecutionHistory {
  // Newest first.
  std::vector<model::Patch> patches;
};

// An execution's workflow with the states of its nodes, without their inputs and outputs.
struct ExecutionGraph {
  model::Workflow workflow;
  std::vector<model::NodeExecution> nodes;
};

// A run, and what a new one with the same launch needs besides the record.
struct Rerun {
  model::Run run;
  std::optional<std::string> terms;
};

// The runs of an execution and its subgraphs, in the order of their start.
struct ExecutionRuns {
  std::vector<model::Run> runs;
  bool is_over = false;
};

// Throws `store.damaged` if it cannot be parsed.
model::Workflow decode_workflow(const store::StoredWorkflow& stored);

// Named reads of stored records. Each is one transaction on the store's threads and reports on the loop; `get_` reports
// `….not_found` if there is no such record. The callbacks are destroyed on the loop in every case.
class Queries {
 public:
  template <class T>
  using Done = std::function<void(std::expected<T, base::Error>)>;

  // Both must outlive the reads.
  Queries(ledger::Ledger& ledger, Loop& loop) noexcept : ledger_(ledger), loop_(loop) {}

  void get_run(base::RunId id, Done<model::Run> done) const;
  void get_rerun(base::RunId id, Done<Rerun> done) const;
  void find_run(base::RunId id, Done<std::optional<model::Run>> done) const;
  // The host that has or had that attempt.
  void find_run_host(base::RunId id, int attempt, Done<std::optional<std::string>> done) const;
  // The same; nothing if the attempt has ended.
  void find_live_host(base::RunId id, int attempt, Done<std::optional<std::string>> done) const;
  // The run that asked; nothing for an approval without one.
  void find_run_of_approval(base::ApprovalId id, Done<std::optional<model::Run>> done) const;
  void list_runs(const store::RunFilter& filter, Done<std::vector<model::Run>> done) const;

  void get_approval(base::ApprovalId id, Done<model::Approval> done) const;
  void list_approvals(const store::ApprovalFilter& filter, Done<std::vector<model::Approval>> done) const;
  // The newest of one run, newest first.
  void list_approvals_of(base::RunId run, Done<std::vector<model::Approval>> done) const;
  // An approval of that run, by Reeve's id or by the tool's own name for it.
  void find_approval_of(base::RunId run, const std::string& name, Done<std::optional<model::Approval>> done) const;

  void get_execution(base::ExecutionId id, store::NodeDetail detail, Done<model::Execution> done) const;
  void list_executions(const store::ExecutionFilter& filter, Done<std::vector<model::Execution>> done) const;
  // `execution.not_found`.
  void list_nodes(const store::NodeFilter& filter, Done<std::vector<store::ListedNode>> done) const;
  void get_execution_history(base::ExecutionId id, Done<ExecutionHistory> done) const;
  // At most 10,000 runs.
  void get_execution_runs(base::ExecutionId id, Done<ExecutionRuns> done) const;
  void get_execution_graph(base::ExecutionId id, Done<ExecutionGraph> done) const;
  void get_execution_workflow(base::ExecutionId id, Done<store::StoredWorkflow> done) const;
  // By its hash.
  void find_workflow(const std::string& hash, Done<std::optional<store::StoredWorkflow>> done) const;
  void list_workflow_versions(const store::VersionFilter& filter, Done<std::vector<store::WorkflowVersion>> done) const;

  // An execution that is not a pipeline counts as missing.
  void get_pipeline(base::ExecutionId id, Done<wire::PipelineRecord> done) const;
  // The same; nothing if the request with this key was already performed.
  void get_pipeline_once(base::ExecutionId id, const std::optional<Idempotency>& idempotency,
                         Done<std::optional<wire::PipelineRecord>> done) const;

  // Reports the id.
  void check_pipeline(base::ExecutionId id, Done<base::ExecutionId> done) const;

  // The projects that have runs or executions, by path, from the first one behind the path `after`.
  void list_projects(const std::string& after, std::int64_t most, Done<std::vector<model::ProjectRef>> done) const;
  // Whether the project with this path is one of them.
  void has_project(const std::string& path, Done<bool> done) const;

  void get_patch(base::PatchId id, Done<model::Patch> done) const;
  void list_patches(const store::PatchFilter& filter, Done<std::vector<model::Patch>> done) const;

  void get_call(base::CallId id, Done<model::ToolCall> done) const;
  void find_run_of_call(base::CallId id, Done<std::optional<base::RunId>> done) const;
  void list_calls(const store::CallFilter& filter, Done<std::vector<model::ToolCall>> done) const;
  void get_grant(base::GrantId id, Done<model::Grant> done) const;
  void list_grants(const store::GrantFilter& filter, Done<std::vector<model::Grant>> done) const;

  void get_task(base::TaskId id, Done<model::Task> done) const;
  void list_tasks(const store::TaskFilter& filter, Done<std::vector<model::Task>> done) const;

  // The number of the newest event, read after all earlier commits.
  void get_last_event(Done<std::int64_t> done) const;
  // The store has the events after `pruned` up to `last`.
  struct EventRange {
    std::int64_t pruned = 0;
    std::int64_t last = 0;
  };
  void get_event_range(Done<EventRange> done) const;

  // Oldest first, after entry `since`; negative: that many before the end.
  void list_audit(std::int64_t since, std::int64_t most, Done<std::vector<AuditEntry>> done) const;
  // Checks the next entries of the trail; true when none are left.
  void check_audit(const ledger::AuditCheck& before, Done<std::pair<ledger::AuditCheck, bool>> done) const;

 private:
  ledger::Ledger& ledger_;
  Loop& loop_;
};

// As reported by `Queries::get_pipeline`; `name`: the id, or what was given instead.
base::Error pipeline_not_found(std::string_view name);

}  // namespace reeve::runtime
