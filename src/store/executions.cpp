#include "store/executions.h"

#include <algorithm>
#include <limits>

#include "store/approvals.h"
#include "store/runs.h"
#include "store/stored_json.h"
#include "store/stored_project.h"

namespace reeve::store {

namespace {

using model::Execution;
using model::NodeExecution;

// node_executions.slot.
constexpr std::int64_t slots_per_execution = 1'048'576;
std::int64_t first_slot(base::ExecutionId id) { return id.number() * slots_per_execution; }
std::int64_t last_slot(base::ExecutionId id) { return first_slot(id) + slots_per_execution - 1; }

std::optional<base::Value> find_json(const Row& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(decode_stored<base::Value>(row.text(column)));
}

template <class Id>
std::optional<Id> find_id(const Row& row, int column) {
  const auto number = row.find_integer(column);
  return number ? std::optional(Id(*number)) : std::nullopt;
}

Execution read_execution(const Row& row) {
  Execution execution;
  execution.execution_id = base::ExecutionId(row.integer(0));
  execution.workflow_id = row.text(1);
  execution.workflow_name = row.text(2);
  execution.label = row.find_text(3);
  execution.status = row.word<model::ExecutionStatus>(4);
  execution.reason = row.find_text(5);
  execution.started_at = row.time(6);
  execution.completed_at = row.find_time(7);
  if (const auto parent = row.find_integer(8)) {
    execution.parent = model::ExecutionParent{base::ExecutionId(*parent), row.find_text(9).value_or("")};
  }
  execution.tally = {row.integer(10), row.integer(11), row.integer(12), row.integer(13)};
  execution.phase_name = row.find_text(14);
  execution.metadata = decode_stored<std::map<std::string, std::string>>(row.text(15));
  execution.project = find_project(row, 16);
  execution.paused_at = row.find_time(17);
  execution.seen_at = row.find_time(18);
  return execution;
}

// The columns that a node and its history share, followed by `inputs` and `outputs`.
NodeExecution read_node(const Row& row) {
  NodeExecution node;
  node.node_id = row.text(0);
  node.type = row.word<model::NodeType>(1);
  node.status = row.word<model::NodeStatus>(2);
  node.attempt = static_cast<int>(row.integer(3));
  node.iteration = static_cast<int>(row.integer(4));
  node.error = row.find_text(5);
  node.tool_run_id = find_id<base::RunId>(row, 6);
  node.approval_id = find_id<base::ApprovalId>(row, 7);
  node.child_execution_id = find_id<base::ExecutionId>(row, 8);
  node.started_at = row.find_time(9);
  node.completed_at = row.find_time(10);
  return node;
}

// The part of the frozen config that readers need; the rest is for the daemon that runs it.
std::optional<base::Value> config_facts(const std::optional<base::Value>& stored) {
  if (!stored) return std::nullopt;
  base::Value facts = base::Value::object();
  for (const char* key : {"project", "base_commit", "apply"}) {
    const base::Value* found = stored->find(key);
    facts.set(key, found != nullptr ? *found : base::Value());
  }
  // What was corrected before a retry (GRF-14).
  if (const base::Value* corrections = stored->find("corrections")) facts.set("corrections", *corrections);
  // For an execution imported from another program (STO-2).
  if (const base::Value* origin = stored->find("imported_from")) facts.set("imported_from", *origin);
  return facts;
}

}  // namespace

std::vector<Execution> list_executions(Session& session, const ExecutionFilter& filter) {
  // ",running,failed,"
  std::string statuses;
  for (const model::ExecutionStatus status : filter.statuses) {
    statuses += statuses.empty() ? "," : "";
    statuses += base::spell(status);
    statuses += ',';
  }
  const std::int64_t before = filter.before ? filter.before->number() : std::numeric_limits<std::int64_t>::max();
  std::vector<Execution> found;
  // The history may be long, and both lists are mostly short.
  const auto has_only = [&](auto is_one) {
    return !filter.statuses.empty() && std::ranges::all_of(filter.statuses, is_one);
  };
  Sql statement = Sql::executions_list;
  if (has_only([](model::ExecutionStatus status) {
        return status == model::ExecutionStatus::running || status == model::ExecutionStatus::waiting_approval;
      })) {
    statement = Sql::executions_list_alive;
  } else if (has_only([](model::ExecutionStatus status) { return status == model::ExecutionStatus::failed; })) {
    statement = Sql::executions_list_failed;
  }
  session.query(statement,
                {{"before", before},
                 {"statuses", statuses},
                 {"label", filter.label},
                 {"workflow", filter.workflow},
                 {"start", filter.workflow_start},
                 {"project", filter.project},
                 {"parts", filter.with_parts ? 1 : 0},
                 {"most", filter.most}},
                [&](const Row& row) {
                  found.push_back(read_execution(row));
                  found.back().unapplied_patches = row.integer(19);
                });
  return found;
}

std::optional<Execution> find_execution(Session& session, base::ExecutionId id, NodeDetail detail) {
  std::optional<Execution> found;
  session.query(Sql::execution_load, {{"execution", id.number()}}, [&](const Row& row) {
    found = read_execution(row);
    found->inputs = find_json(row, 19);
    found->config = config_facts(find_json(row, 20));
    found->unapplied_patches = row.integer(21);
  });
  if (!found || detail == NodeDetail::none) return found;
  const Sql statement = detail == NodeDetail::all ? Sql::execution_nodes : Sql::execution_nodes_brief;
  session.query(statement, {{"first", first_slot(id)}, {"last", last_slot(id)}}, [&](const Row& row) {
    NodeExecution& node = found->nodes.emplace_back(read_node(row));
    node.not_before = row.find_time(11);
    if (detail != NodeDetail::all) return;
    node.inputs = find_json(row, 12);
    node.outputs = find_json(row, 13);
  });
  return found;
}

std::vector<ListedNode> list_nodes(Session& session, const NodeFilter& filter) {
  // ",running,failed,"
  std::string statuses;
  for (const model::NodeStatus status : filter.statuses) {
    statuses += statuses.empty() ? "," : "";
    statuses += base::spell(status);
    statuses += ',';
  }
  const std::int64_t first = first_slot(filter.execution);
  std::vector<ListedNode> found;
  session.query(Sql::execution_nodes_page,
                {{"after", first + filter.after},
                 {"last", last_slot(filter.execution)},
                 {"statuses", statuses},
                 {"most", filter.most}},
                [&](const Row& row) {
                  ListedNode& listed = found.emplace_back(row.integer(14) - first, read_node(row));
                  listed.node.not_before = row.find_time(11);
                  listed.node.inputs = find_json(row, 12);
                  listed.node.outputs = find_json(row, 13);
                });
  return found;
}

ExecutionHistory read_execution_history(Session& session, base::ExecutionId id) {
  ExecutionHistory history;
  session.query(Sql::execution_history, {{"first", first_slot(id)}, {"last", last_slot(id)}}, [&](const Row& row) {
    ArchivedNode archived{read_node(row), row.time(11)};
    archived.node.inputs = find_json(row, 12);
    archived.node.outputs = find_json(row, 13);
    history.nodes.push_back(std::move(archived));
  });
  session.query(Sql::runs_of_execution, {{"execution", id.number()}},
                [&](const Row& row) { history.runs.push_back(read_run(row).run); });
  session.query(Sql::approvals_of_execution, {{"execution", id.number()}},
                [&](const Row& row) { history.approvals.push_back(read_approval(row).approval); });
  return history;
}

std::optional<StoredWorkflow> find_execution_workflow(Session& session, base::ExecutionId id) {
  std::optional<StoredWorkflow> found;
  session.query(Sql::execution_workflow, {{"execution", id.number()}}, [&](const Row& row) {
    found = StoredWorkflow{std::string(row.text(0)), decode_stored<base::Value>(row.text(1))};
  });
  return found;
}

std::optional<StoredWorkflow> find_workflow(Session& session, const std::string& hash) {
  std::optional<StoredWorkflow> found;
  session.query(Sql::workflow_find, {{"hash", hash}},
                [&](const Row& row) { found = StoredWorkflow{hash, decode_stored<base::Value>(row.text(0))}; });
  return found;
}

std::vector<WorkflowVersion> list_workflow_versions(Session& session, const VersionFilter& filter) {
  // Sorts after every time.
  const std::string before = filter.before ? base::format_time(filter.before->first) : "~";
  std::vector<WorkflowVersion> found;
  session.query(Sql::workflow_versions,
                {{"workflow", filter.workflow},
                 {"before", before},
                 {"hash", filter.before ? filter.before->second : std::string()},
                 {"most", filter.most}},
                [&](const Row& row) {
                  found.push_back({std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2)),
                                   std::string(row.text(3)), row.time(4)});
                });
  return found;
}

}  // namespace reeve::store
