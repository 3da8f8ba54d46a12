#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/value.h"
#include "model/approval.h"
#include "model/describe.h"
#include "model/workflow_input.h"

// A graph of nodes as users write it (SPEC §3, S6 §1.1). The names of fields and enumerators are the YAML keys and
// values.
namespace reeve::model {

enum class NodeType { task, gate, branch, merge, parallel, subgraph, human };
REEVE_DESCRIBE_ENUM(NodeType, task, gate, branch, merge, parallel, subgraph, human)

// GRF-2. Conditions are data: nothing else is evaluated.
enum class Operator {
  equal,
  not_equal,
  greater,
  less,
  greater_or_equal,
  less_or_equal,
  in,
  not_in,
  contains,
  starts_with,
  ends_with
};
std::span<const base::EnumName<Operator>> enum_names(Operator) noexcept;

// How many incoming edges a node waits for.
enum class WaitFor { all, any };
REEVE_DESCRIBE_ENUM(WaitFor, all, any)

enum class ParallelWait { all, any, first };
REEVE_DESCRIBE_ENUM(ParallelWait, all, any, first)

enum class MergeStrategy { union_, intersection, first };
REEVE_DESCRIBE_ENUM(MergeStrategy, union_, intersection, first)

// GRF-9.
enum class BranchOutcome { on_true, on_false, max_iterations_reached };
REEVE_DESCRIBE_ENUM(BranchOutcome, on_true, on_false, max_iterations_reached)

// ISO-3: when the changes go into the user's checkout.
enum class ApplyWhen { on_complete, on_approval, manual };
REEVE_DESCRIBE_ENUM(ApplyWhen, on_complete, on_approval, manual)

enum class Isolation { worktree, none };
REEVE_DESCRIBE_ENUM(Isolation, worktree, none)

enum class RetryOn { failed, failed_timeout };
REEVE_DESCRIBE_ENUM(RetryOn, failed, failed_timeout)

struct Condition {
  // Dotted: `test_status`, `check.branch_outcome`.
  std::string field;
  Operator operator_ = Operator::equal;
  // A string, number or boolean, or a list of them.
  base::Value value;
  friend bool operator==(const Condition&, const Condition&) = default;
};
BOOST_DESCRIBE_STRUCT(Condition, (), (field, operator_, value))

// The condition of a branch node, with the limit of its loop.
struct BranchCondition : Condition {
  std::int64_t max_iterations = 10;
  friend bool operator==(const BranchCondition&, const BranchCondition&) = default;
};
BOOST_DESCRIBE_STRUCT(BranchCondition, (Condition), (max_iterations))

struct Retry {
  // Total number of attempts, including the first.
  std::int64_t attempts = 1;
  base::Milliseconds backoff{0};
  std::vector<RetryOn> on = {RetryOn::failed, RetryOn::failed_timeout};
  friend bool operator==(const Retry&, const Retry&) = default;
};
BOOST_DESCRIBE_STRUCT(Retry, (), (attempts, backoff, on))

// An optional input field: if present, it is appended to the task's template under its title. (A template fails if it
// names an input that is missing.)
struct TaskContext {
  std::string title;
  std::string field;
  friend bool operator==(const TaskContext&, const TaskContext&) = default;
};
BOOST_DESCRIBE_STRUCT(TaskContext, (), (title, field))

struct TaskConfig {
  std::string role;
  std::string task_template = "{input}";
  std::vector<TaskContext> context;
  // S6's `run_role`: the files that the task is about, and further context (a mapping). Each is appended to the
  // template under a title, unless a template names it (`{target_files}`, `{extra_context}`).
  std::vector<std::string> target_files = {};
  std::optional<base::Value> extra_context = {};
  // Overrides the role's tool.
  std::optional<std::string> tool = {};
  std::optional<base::TimeLimit> timeout;
  std::vector<std::string> gates;
  std::optional<std::string> worktree_id;
  std::optional<Retry> retry;
  friend bool operator==(const TaskConfig&, const TaskConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(TaskConfig, (),
                      (role, task_template, context, target_files, extra_context, tool, timeout, gates, worktree_id,
                       retry))

struct GateConfig {
  std::string gate_type;
  bool auto_approve = false;
  bool requires_worktree = true;
  friend bool operator==(const GateConfig&, const GateConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(GateConfig, (), (gate_type, auto_approve, requires_worktree))

struct BranchConfig {
  BranchCondition condition;
  std::string on_true;
  std::string on_false;
  friend bool operator==(const BranchConfig&, const BranchConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(BranchConfig, (), (condition, on_true, on_false))

struct MergeConfig {
  WaitFor wait_for = WaitFor::all;
  MergeStrategy merge_strategy = MergeStrategy::union_;
  friend bool operator==(const MergeConfig&, const MergeConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(MergeConfig, (), (wait_for, merge_strategy))

struct ParallelConfig {
  std::vector<std::string> branches;
  ParallelWait wait_for = ParallelWait::all;
  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(ParallelConfig, (), (branches, wait_for))

struct SubgraphConfig {
  std::string workflow_name;
  std::map<std::string, std::string> input_mapping;
  std::map<std::string, std::string> output_mapping;
  friend bool operator==(const SubgraphConfig&, const SubgraphConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(SubgraphConfig, (), (workflow_name, input_mapping, output_mapping))

struct HumanConfig {
  std::string title;
  std::optional<std::string> description;
  std::vector<ApprovalOption> options;
  std::optional<base::TimeLimit> expires;
  friend bool operator==(const HumanConfig&, const HumanConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(HumanConfig, (), (title, description, options, expires))

struct Node {
  std::string id;
  NodeType type = NodeType::task;
  std::optional<std::string> label;
  std::optional<std::string> description;
  // Only the config of the node's type is set; a merge node may omit it and use the defaults.
  std::optional<TaskConfig> task_config;
  std::optional<GateConfig> gate_config;
  std::optional<BranchConfig> branch_config;
  std::optional<MergeConfig> merge_config;
  std::optional<ParallelConfig> parallel_config;
  std::optional<SubgraphConfig> subgraph_config;
  std::optional<HumanConfig> human_config;
  // For a visual editor; Reeve only stores it.
  std::optional<base::Value> ui_metadata;
  WaitFor wait_for_incoming = WaitFor::any;
  // ISO-3: apply the changes so far to the user's checkout when this node completes.
  bool apply = false;
  friend bool operator==(const Node&, const Node&) = default;
};
BOOST_DESCRIBE_STRUCT(Node, (),
                      (id, type, label, description, task_config, gate_config, branch_config, merge_config,
                       parallel_config, subgraph_config, human_config, ui_metadata, wait_for_incoming, apply))

struct Edge {
  std::string id;
  std::string source;
  std::string target;
  std::optional<Condition> condition;
  // GRF-8: {name in the target's input: name in the source's output}.
  std::map<std::string, std::string> data_mapping;
  bool is_loop_edge = false;
  friend bool operator==(const Edge&, const Edge&) = default;
};
BOOST_DESCRIBE_STRUCT(Edge, (), (id, source, target, condition, data_mapping, is_loop_edge))

struct WorkflowConfig {
  std::int64_t max_parallel_nodes = 4;
  bool fail_fast = true;
  ApplyWhen apply = ApplyWhen::on_complete;
  // Unset: a worktree in a git project, otherwise none (ISO-1).
  std::optional<Isolation> isolation;
  friend bool operator==(const WorkflowConfig&, const WorkflowConfig&) = default;
};
BOOST_DESCRIBE_STRUCT(WorkflowConfig, (), (max_parallel_nodes, fail_fast, apply, isolation))

struct Workflow {
  std::string id;
  std::string name;
  std::optional<std::string> description;
  std::string version = "1.0.0";
  // Unset: any inputs are accepted, unchecked (GRF-8).
  std::optional<std::vector<WorkflowInput>> inputs;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::string entry_point;
  // Empty: the nodes without outgoing edges.
  std::vector<std::string> exit_points;
  WorkflowConfig config;
  friend bool operator==(const Workflow&, const Workflow&) = default;
};
BOOST_DESCRIBE_STRUCT(Workflow, (),
                      (id, name, description, version, inputs, nodes, edges, entry_point, exit_points, config))

}  // namespace reeve::model
