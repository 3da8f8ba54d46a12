#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "client/runs.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/workflow.h"

// Requests about executions.
namespace reeve::client {

struct ExecutionRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Execution execution;
};

struct StartedExecution {
  ExecutionRecord record;
  // Uncommitted changes of the project, which are not included.
  std::vector<std::string> dirty;
};
StartedExecution create_execution(Daemon& daemon, const base::Value& request);
// `brief`: without the inputs and outputs of nodes.
enum class NodeText { brief, whole };
ExecutionRecord get_execution(Daemon& daemon, base::ExecutionId id, NodeText text = NodeText::whole);

struct ExecutionSelection {
  // Empty: all.
  std::vector<std::string> statuses = {};
  std::optional<std::string> label = {};
  std::optional<std::string> workflow = {};
  // The path of the only project to list.
  std::optional<std::string> project = {};
  // Also the executions of subgraphs.
  bool with_parts = true;
};
// Newest first, without nodes.
std::vector<ExecutionRecord> list_executions(Daemon& daemon, const ExecutionSelection& selection, std::size_t limit);

ExecutionRecord cancel_execution(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& reason);
void dismiss_execution(Daemon& daemon, base::ExecutionId id);
ExecutionRecord pause_execution(Daemon& daemon, base::ExecutionId id);
ExecutionRecord resume_execution(Daemon& daemon, base::ExecutionId id);
// `correction`: {"source", "file", "inputs"}, each optional.
ExecutionRecord retry_execution(Daemon& daemon, base::ExecutionId id, const base::Value& correction);
// Returns the record once `until` is reached, or the current one after the timeout.
ExecutionRecord wait_execution(Daemon& daemon, base::ExecutionId id, Until until, base::Milliseconds time);

// What happened in an execution, besides the current state of its nodes.
struct ExecutionHistory {
  base::Value wire;
  // Earlier loop iterations, in order (GRF-5).
  std::vector<model::NodeExecution> iterations;
  std::vector<model::Run> runs;
  std::vector<model::Approval> approvals;
};
ExecutionHistory get_history(Daemon& daemon, base::ExecutionId id);
// Everything that an execution has changed.
struct ExecutionDiff {
  base::Value wire;
  // Nothing without a branch.
  std::optional<std::string> branch;
  std::optional<std::string> base_commit;
  std::string diff;
  bool is_cut = false;
};
ExecutionDiff get_diff(Daemon& daemon, base::ExecutionId id);
struct AppliedExecution {
  base::Value wire;
  // `applied`, `asked` or `nothing`.
  std::string outcome;
  std::string message;
  std::optional<base::ApprovalId> approval_id;
};
AppliedExecution apply_execution(Daemon& daemon, base::ExecutionId id);
// The version of the workflow that the execution uses.
struct ExecutionWorkflow {
  std::string content_hash;
  model::Workflow workflow;
};
ExecutionWorkflow get_workflow(Daemon& daemon, base::ExecutionId id);

}  // namespace reeve::client
