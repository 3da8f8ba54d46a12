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

// What a client asks of executions.
namespace reeve::client {

struct ExecutionRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  model::Execution execution;
};

struct StartedExecution {
  ExecutionRecord record;
  // What is changed in the project and not committed: no part of it.
  std::vector<std::string> dirty;
};
StartedExecution create_execution(Daemon& daemon, const base::Value& wish);
// `brief`: without what went into the nodes and came out of them.
enum class NodeText { brief, whole };
ExecutionRecord get_execution(Daemon& daemon, base::ExecutionId id, NodeText text = NodeText::whole);

struct ExecutionSelection {
  // None: all.
  std::vector<std::string> statuses = {};
  std::optional<std::string> label = {};
  std::optional<std::string> workflow = {};
};
// The newest first, without nodes.
std::vector<ExecutionRecord> list_executions(Daemon& daemon, const ExecutionSelection& selection, std::size_t limit);

ExecutionRecord cancel_execution(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& reason);
ExecutionRecord retry_execution(Daemon& daemon, base::ExecutionId id);
// The record when that is reached, or the present one when the time is over.
ExecutionRecord wait_execution(Daemon& daemon, base::ExecutionId id, Until until, base::Milliseconds time);

// What happened in it beside what its nodes have now.
struct ExecutionHistory {
  base::Value wire;
  // What loops took back, in the order in which they did (GRF-5).
  std::vector<model::NodeExecution> iterations;
  std::vector<model::Run> runs;
  std::vector<model::Approval> approvals;
};
ExecutionHistory get_history(Daemon& daemon, base::ExecutionId id);
// The version of the workflow that it goes by.
struct ExecutionWorkflow {
  std::string content_hash;
  model::Workflow workflow;
};
ExecutionWorkflow get_workflow(Daemon& daemon, base::ExecutionId id);

}  // namespace reeve::client
