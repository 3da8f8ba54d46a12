#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/approval.h"
#include "model/execution.h"
#include "model/run.h"
#include "store/session.h"

// Executions for display, read without a lock.
namespace reeve::store {

struct ExecutionFilter {
  // Empty: all.
  std::vector<model::ExecutionStatus> statuses = {};
  std::optional<std::string> label = {};
  // The id or name of its workflow.
  std::optional<std::string> workflow = {};
  // A prefix of its workflow's id.
  std::optional<std::string> workflow_start = {};
  // Only entries before this one.
  std::optional<base::ExecutionId> before = {};
  // The path of a project.
  std::optional<std::string> project = {};
  // Also the executions of subgraphs.
  bool with_parts = true;
  std::int64_t most = 50;
};
// Newest first, without nodes, inputs and config.
std::vector<model::Execution> list_executions(Session& session, const ExecutionFilter& filter);

enum class NodeDetail {
  none,
  // Without inputs and outputs, which may be long.
  brief,
  all,
};
std::optional<model::Execution> find_execution(Session& session, base::ExecutionId id, NodeDetail detail);

// The execution's nodes in file order, paged.
struct NodeFilter {
  base::ExecutionId execution{0};
  // Empty: all.
  std::vector<model::NodeStatus> statuses = {};
  // Only nodes after this position in the file.
  std::int64_t after = -1;
  std::int64_t most = 50;
};
struct ListedNode {
  std::int64_t place = 0;
  model::NodeExecution node;
};
std::vector<ListedNode> list_nodes(Session& session, const NodeFilter& filter);

// One iteration of a node that a loop has reset (GRF-5).
struct ArchivedNode {
  model::NodeExecution node;
  base::WallTime archived_at;
};
// The execution's history besides the current state of its nodes, each list in chronological order.
struct ExecutionHistory {
  std::vector<ArchivedNode> nodes;
  std::vector<model::Run> runs;
  std::vector<model::Approval> approvals;
};
ExecutionHistory read_execution_history(Session& session, base::ExecutionId id);

// The workflow version that the execution uses: its hash and its definition as JSON.
struct StoredWorkflow {
  std::string hash;
  base::Value definition;
};
std::optional<StoredWorkflow> find_execution_workflow(Session& session, base::ExecutionId id);
// By its hash.
std::optional<StoredWorkflow> find_workflow(Session& session, const std::string& hash);

// A version of a workflow with which something was started.
struct WorkflowVersion {
  std::string content_hash;
  std::string workflow_id;
  std::string workflow_name;
  std::string version;
  base::WallTime created_at;
};
BOOST_DESCRIBE_STRUCT(WorkflowVersion, (), (content_hash, workflow_id, workflow_name, version, created_at))

struct VersionFilter {
  // The id or name of the workflow.
  std::string workflow;
  // Only versions before this one: time of storing, and hash.
  std::optional<std::pair<base::WallTime, std::string>> before = {};
  std::int64_t most = 50;
};
// Newest first.
std::vector<WorkflowVersion> list_workflow_versions(Session& session, const VersionFilter& filter);

}  // namespace reeve::store
