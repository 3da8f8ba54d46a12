#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/project_ref.h"
#include "model/workflow.h"

// One run of a workflow (SPEC §3).
namespace reeve::model {

enum class ExecutionStatus { running, waiting_approval, completed, failed, cancelled };
REEVE_DESCRIBE_ENUM(ExecutionStatus, running, waiting_approval, completed, failed, cancelled)

// `flow retry` can restart a failed execution (GRF-14), so `failed` ends an execution but is not final.
bool can_move(ExecutionStatus from, ExecutionStatus to) noexcept;
bool is_over(ExecutionStatus status) noexcept;

enum class NodeStatus { pending, ready, running, waiting_approval, completed, failed, skipped, cancelled };
REEVE_DESCRIBE_ENUM(NodeStatus, pending, ready, running, waiting_approval, completed, failed, skipped, cancelled)

// Within one iteration. A loop (GRF-5) and `flow retry` (GRF-14) reset a node: that begins a new iteration or attempt
// and is not a transition.
bool can_move(NodeStatus from, NodeStatus to) noexcept;
bool is_over(NodeStatus status) noexcept;

// GRF-3.
enum class EdgeState { open, taken, dead };
REEVE_DESCRIBE_ENUM(EdgeState, open, taken, dead)

struct NodeExecution {
  std::string node_id;
  NodeType type = NodeType::task;
  NodeStatus status = NodeStatus::pending;
  int attempt = 0;
  int iteration = 0;
  std::optional<base::Value> inputs;
  std::optional<base::Value> outputs;
  std::optional<std::string> error;
  std::optional<base::RunId> tool_run_id;
  std::optional<base::ApprovalId> approval_id;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
  // Subgraph nodes: the child execution (GRF-11).
  std::optional<base::ExecutionId> child_execution_id;
  // While `ready`: the earliest start of the next attempt (GRF-14).
  std::optional<base::WallTime> not_before;
  friend bool operator==(const NodeExecution&, const NodeExecution&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeExecution, (),
                      (node_id, type, status, attempt, iteration, inputs, outputs, error, tool_run_id, approval_id,
                       started_at, completed_at, child_execution_id, not_before))

// The node of another execution that started this one (GRF-11).
struct ExecutionParent {
  base::ExecutionId execution_id{0};
  std::string node_id;
  friend bool operator==(const ExecutionParent&, const ExecutionParent&) = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionParent, (), (execution_id, node_id))

// Counts of active and failed nodes.
struct NodeTally {
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t failed = 0;
  friend bool operator==(const NodeTally&, const NodeTally&) = default;
};
BOOST_DESCRIBE_STRUCT(NodeTally, (), (ready, running, waiting, failed))

struct Execution {
  base::ExecutionId execution_id{0};
  std::optional<ProjectRef> project;
  std::string workflow_id;
  std::string workflow_name;
  std::optional<std::string> label;
  // The phase of a larger job, and metadata supplied by the caller (S2). Reeve only stores them.
  std::optional<std::string> phase_name;
  std::map<std::string, std::string> metadata;
  ExecutionStatus status = ExecutionStatus::running;
  std::optional<std::string> reason;
  base::WallTime started_at;
  std::optional<base::WallTime> completed_at;
  std::vector<NodeExecution> nodes;
  std::optional<ExecutionParent> parent;
  NodeTally tally;
  // Patches on its branch that are not in the user's checkout (ISO-3), with those of its subgraphs.
  std::int64_t unapplied_patches = 0;
  // The inputs that it was started with.
  std::optional<base::Value> inputs;
  // Where it works and when its changes are applied: {"project", "base_commit", "apply"}.
  std::optional<base::Value> config;
  // A person holds it: its runs are paused, and no node starts.
  std::optional<base::WallTime> paused_at;
  // A person dismissed its failure.
  std::optional<base::WallTime> seen_at;
  friend bool operator==(const Execution&, const Execution&) = default;
};
BOOST_DESCRIBE_STRUCT(Execution, (),
                      (execution_id, project, workflow_id, workflow_name, label, phase_name, metadata, status, reason,
                       started_at, completed_at, nodes, parent, tally, unapplied_patches, inputs, config, paused_at,
                       seen_at))

}  // namespace reeve::model
