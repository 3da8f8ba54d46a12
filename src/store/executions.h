#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/approval.h"
#include "model/execution.h"
#include "model/run.h"
#include "store/session.h"

// Executions as they are shown. Without a lock: for those who only look.
namespace reeve::store {

struct ExecutionFilter {
  // None: all.
  std::vector<model::ExecutionStatus> statuses = {};
  std::optional<std::string> label = {};
  // The id or the name of its workflow.
  std::optional<std::string> workflow = {};
  // What the id of its workflow begins with.
  std::optional<std::string> workflow_start = {};
  // Only those before it.
  std::optional<base::ExecutionId> before = {};
  std::int64_t most = 50;
};
// Newest first, without nodes, inputs and config.
std::vector<model::Execution> list_executions(Session& session, const ExecutionFilter& filter);

enum class NodeDetail {
  none,
  // Without what went into them and came out, which may be long.
  brief,
  all,
};
std::optional<model::Execution> find_execution(Session& session, base::ExecutionId id, NodeDetail detail);

// Its nodes in the order of the file, page by page.
struct NodeFilter {
  base::ExecutionId execution{0};
  // None: all.
  std::vector<model::NodeStatus> statuses = {};
  // Only those behind that place in the file.
  std::int64_t after = -1;
  std::int64_t most = 50;
};
struct ListedNode {
  std::int64_t place = 0;
  model::NodeExecution node;
};
std::vector<ListedNode> list_nodes(Session& session, const NodeFilter& filter);

// One time that a node was gone through before a loop took it back (GRF-5).
struct ArchivedNode {
  model::NodeExecution node;
  base::WallTime archived_at;
};
// What happened in it beside what its nodes have now, each in the order in which it came.
struct ExecutionHistory {
  std::vector<ArchivedNode> nodes;
  std::vector<model::Run> runs;
  std::vector<model::Approval> approvals;
};
ExecutionHistory read_execution_history(Session& session, base::ExecutionId id);

// The version of the workflow that it goes by: its hash and its definition as JSON.
struct StoredWorkflow {
  std::string hash;
  base::Value definition;
};
std::optional<StoredWorkflow> find_execution_workflow(Session& session, base::ExecutionId id);
// By its hash.
std::optional<StoredWorkflow> find_workflow(Session& session, const std::string& hash);

// A version of a workflow that something was started with.
struct WorkflowVersion {
  std::string content_hash;
  std::string workflow_id;
  std::string workflow_name;
  std::string version;
  base::WallTime created_at;
};
BOOST_DESCRIBE_STRUCT(WorkflowVersion, (), (content_hash, workflow_id, workflow_name, version, created_at))

struct VersionFilter {
  // The id or the name of the workflow.
  std::string workflow;
  // Only those before it: when it was stored, and its hash.
  std::optional<std::pair<base::WallTime, std::string>> before = {};
  std::int64_t most = 50;
};
// Newest first.
std::vector<WorkflowVersion> list_workflow_versions(Session& session, const VersionFilter& filter);

}  // namespace reeve::store
