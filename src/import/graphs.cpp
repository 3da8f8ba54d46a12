#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "import/context.h"
#include "import/status.h"
#include "import/workflow.h"
#include "json/encode.h"

// graph_workflows, graph_executions, node_executions and loop_counters (S6).
namespace reeve::import {

namespace {

using base::Value;
using store::ForeignTable;
using store::ForeignValue;
using store::Sql;

struct ExecutionColumns {
  explicit ExecutionColumns(Columns& columns)
      : id(columns.pick({"id"})),
        label(columns.pick({"workflow_id"})),
        graph(columns.pick({"graph_id"})),
        status(columns.pick({"status"})),
        started(columns.pick({"started_at"})),
        completed(columns.pick({"completed_at"})),
        error(columns.pick({"error"})) {}
  Column id, label, graph, status, started, completed, error;
};

struct NodeColumns {
  explicit NodeColumns(Columns& columns)
      : execution(columns.pick({"execution_id"})),
        node(columns.pick({"node_id"})),
        type(columns.pick({"node_type"})),
        status(columns.pick({"status"})),
        input(columns.pick({"input_data"})),
        output(columns.pick({"output_data"})),
        error(columns.pick({"error"})),
        started(columns.pick({"started_at"})),
        completed(columns.pick({"completed_at"})),
        id(columns.pick({"id"})),
        version(columns.pick({"version"})) {}
  Column execution, node, type, status, input, output, error, started, completed, id, version;
};

struct LoopColumns {
  explicit LoopColumns(Columns& columns)
      : execution(columns.pick({"execution_id"})),
        key(columns.pick({"loop_key"})),
        count(columns.pick({"iteration_count"})) {}
  Column execution, key, count;
};

// A source table with its columns, if it exists.
template <class Picked>
struct Part {
  Part(ImportContext& context, std::string_view name) : table(context.file().find(name)) {
    if (table == nullptr) return;
    Columns columns(*table);
    picked.emplace(columns);
    context.note_unused(*table, columns);
  }
  const ForeignTable* table;
  std::optional<Picked> picked;
};

class GraphImport {
 public:
  explicit GraphImport(ImportContext& context)
      : context_(context),
        workflows_(context, "graph_workflows"),
        executions_(context, "graph_executions"),
        nodes_(context, "node_executions"),
        loops_(context, "loop_counters") {}

  void run() {
    if (executions_.table != nullptr) {
      context_.file().scan(*executions_.table, [&](const store::ForeignRow& row) { take_execution(OldRow(row)); });
    }
    constexpr std::string_view orphan = "its execution was not imported";
    if (nodes_.table != nullptr) context_.skip("nodes", orphan, context_.rows_of(*nodes_.table) - seen_nodes_);
    if (loops_.table != nullptr) context_.skip("loop_counters", orphan, context_.rows_of(*loops_.table) - seen_loops_);
  }

 private:
  using NodeMap = std::unordered_map<std::string, OldNode>;

  SharedOldPlan find_plan(const ForeignValue& graph, const std::string& id) {
    if (const auto found = plans_.find(id); found != plans_.end()) return found->second;
    SharedOldPlan plan;
    if (workflows_.table != nullptr && workflows_.picked->id) {
      const store::ForeignFile::Selection selection{.column = workflows_.table->columns[*workflows_.picked->id],
                                                    .value = graph};
      context_.file().scan(*workflows_.table, selection, [&](const store::ForeignRow& row) {
        if (!plan) plan = take_old_workflow(context_, *workflows_.picked, OldRow(row));
      });
    }
    constexpr std::size_t max_plans = 64;
    if (plan) nodes_kept_ += plan->workflow.nodes.size();
    if (plans_.size() >= max_plans || nodes_kept_ > 2 * base::limits::workflow_nodes) {
      plans_.clear();
      nodes_kept_ = plan ? plan->workflow.nodes.size() : 0;
    }
    plans_.emplace(id, plan);
    return plan;
  }

  // Calls `read` for each row of the table that belongs to the execution.
  template <class Picked>
  void scan_of(const Part<Picked>& part, const ForeignValue& execution, const store::ForeignFile::Reader& read) {
    if (part.table == nullptr || !part.picked->execution) return;
    context_.file().scan(*part.table, {.column = part.table->columns[*part.picked->execution], .value = execution},
                         read);
  }

  void take_execution(const OldRow& row) {
    const ExecutionColumns& columns = *executions_.picked;
    const auto id = context_.new_id("executions", OldKind::graph_execution, row, columns.id);
    if (!id) return;
    const auto word = row.name(columns.status);
    const auto end = word ? find_old_end(*word) : std::nullopt;
    if (!end) return context_.skip("executions", describe_unknown(word));
    const ExecutionEnd whole = execution_end(*end, row.text(columns.error));
    const std::string graph = row.id(columns.graph).value_or("workflow");
    SharedOldPlan plan = find_plan(row.value(columns.graph), graph);
    std::vector<std::string> order;
    NodeMap nodes = read_nodes(row.value(columns.id), plan.get(), whole.status, order);
    if (!plan) {
      context_.note(fmt::format("workflow {} is not in the file: its executions are imported with their nodes only",
                                base::quoted(graph)));
      plan = make_old_plan(context_, make_loose_workflow(graph, graph, order));
    }
    OldExecution execution{.workflow_hash = plan->hash,
                           .origin = ImportContext::origin(*executions_.table, *id),
                           .label = row.name(columns.label),
                           .status = whole.status,
                           .reason = whole.reason,
                           .inputs = Value::object(),
                           .failed_nodes = 0,
                           .started_at = row.time(columns.started, context_.odd_times),
                           .completed_at = row.time(columns.completed, context_.odd_times)};
    finish(execution, nodes, plan->workflow);
    const std::int64_t number = insert_execution(context_, execution);
    context_.remember(OldKind::graph_execution, *id, number);
    context_.take("executions");
    insert_nodes(number, *plan, nodes, whole.status);
    take_loops(row.value(columns.id), number, *plan);
  }

  // Completes the execution from the rows of its nodes.
  static void finish(OldExecution& execution, const NodeMap& nodes, const model::Workflow& workflow) {
    for (const auto& [_, node] : nodes) {
      if (node.status == model::NodeStatus::failed) ++execution.failed_nodes;
      for (const auto& time : {node.completed_at, node.started_at}) {
        const bool is_later = time && (!execution.completed_at || *time > *execution.completed_at);
        if (execution.reason == imported_reason && is_later) execution.completed_at = time;
      }
    }
    const auto entry = nodes.find(workflow.entry_point);
    if (entry != nodes.end() && entry->second.inputs) execution.inputs = *entry->second.inputs;
  }

  NodeMap read_nodes(const ForeignValue& execution, const OldPlan* plan, model::ExecutionStatus whole,
                     std::vector<std::string>& order) {
    NodeMap nodes;
    scan_of(nodes_, execution, [&](const store::ForeignRow& found) {
      ++seen_nodes_;
      auto node = read_node(OldRow(found), whole);
      if (!node) return;
      if (plan != nullptr && !plan->positions.contains(node->node_id)) {
        return context_.skip("nodes", "its workflow has no such node");
      }
      constexpr std::size_t max_loose = 1'000;
      if (plan == nullptr && order.size() >= max_loose) return context_.skip("nodes", "its workflow is not known");
      const std::string name = node->node_id;
      if (!nodes.emplace(name, std::move(*node)).second) {
        return context_.skip("nodes", "another row describes the same node");
      }
      order.push_back(name);
      context_.take("nodes");
    });
    return nodes;
  }

  std::optional<OldNode> read_node(const OldRow& row, model::ExecutionStatus whole) {
    const NodeColumns& columns = *nodes_.picked;
    const auto id = row.id(columns.node);
    const auto word = row.name(columns.status);
    const auto end = word ? find_old_end(*word) : std::nullopt;
    const auto type = base::find_enum<model::NodeType>(row.name(columns.type).value_or("task"));
    if (!id || !end || !type) {
      context_.skip("nodes", !id ? "it has no node id" : !type ? "unknown type of node" : describe_unknown(word));
      return std::nullopt;
    }
    const NodeEnd over = node_end(*end, row.text(columns.error), whole);
    return OldNode{.node_id = *id,
                   .type = *type,
                   .status = over.status,
                   .inputs = row.object(columns.input),
                   .outputs = row.object(columns.output),
                   .error = over.error,
                   .run = {},
                   .approval = {},
                   .started_at = row.time(columns.started, context_.odd_times),
                   .completed_at = row.time(columns.completed, context_.odd_times)};
  }

  // Every node of the workflow gets a row, as in any execution.
  void insert_nodes(std::int64_t number, const OldPlan& plan, NodeMap& nodes, model::ExecutionStatus whole) {
    for (std::size_t i = 0; i < plan.workflow.nodes.size(); ++i) {
      const model::Node& words = plan.workflow.nodes[i];
      const auto found = nodes.find(words.id);
      if (found != nodes.end()) {
        insert_node(context_, number, i, found->second);
        continue;
      }
      OldNode missing;
      missing.node_id = words.id;
      missing.type = words.type;
      missing.status = node_end(OldEnd::waiting, {}, whole).status;
      insert_node(context_, number, i, missing);
    }
  }

  // S6 names a loop by its edge, or by the node where the edge starts.
  static std::optional<std::size_t> find_loop(const model::Workflow& workflow, std::string_view key) {
    constexpr std::string_view start = "loop_";
    const std::string_view name = key.starts_with(start) ? key.substr(start.size()) : key;
    for (const bool by_edge : {true, false}) {
      for (std::size_t i = 0; i < workflow.edges.size(); ++i) {
        const model::Edge& edge = workflow.edges[i];
        if (edge.is_loop_edge && (by_edge ? edge.id : edge.source) == name) return i;
      }
    }
    return std::nullopt;
  }

  void take_loops(const ForeignValue& execution, std::int64_t number, const OldPlan& plan) {
    std::vector<std::size_t> taken;
    scan_of(loops_, execution, [&](const store::ForeignRow& found) {
      ++seen_loops_;
      const OldRow row(found);
      const auto key = row.id(loops_.picked->key);
      const auto count = row.integer(loops_.picked->count);
      const auto edge = key ? find_loop(plan.workflow, *key) : std::nullopt;
      if (!edge) return context_.skip("loop_counters", "its workflow has no such loop");
      if (!count || *count < 0) return context_.skip("loop_counters", "its count is not a number");
      if (std::ranges::find(taken, *edge) != taken.end()) {
        return context_.skip("loop_counters", "another row describes the same loop");
      }
      taken.push_back(*edge);
      context_.session().write_any(Sql::loop_write, {{"execution", number},
                                                     {"edge", static_cast<std::int64_t>(*edge)},
                                                     {"loop_key", plan.workflow.edges[*edge].id},
                                                     {"count", *count}});
      context_.take("loop_counters");
    });
  }

  ImportContext& context_;
  Part<OldWorkflowColumns> workflows_;
  Part<ExecutionColumns> executions_;
  Part<NodeColumns> nodes_;
  Part<LoopColumns> loops_;
  // The most recently used plans, limited by nodes because a workflow can be large.
  std::unordered_map<std::string, SharedOldPlan> plans_;
  std::size_t nodes_kept_ = 0;
  std::int64_t seen_nodes_ = 0;
  std::int64_t seen_loops_ = 0;
};

}  // namespace

void import_workflows(ImportContext& context) {
  const ForeignTable* table = context.file().find("graph_workflows");
  if (table == nullptr) return;
  Columns columns(*table);
  const OldWorkflowColumns picked(columns);
  context.file().scan(*table, [&](const store::ForeignRow& row) {
    if (take_old_workflow(context, picked, OldRow(row))) {
      context.take("workflows");
    } else {
      context.skip("workflows", "its definition cannot be read");
    }
  });
}

void import_graph_executions(ImportContext& context) { GraphImport(context).run(); }

}  // namespace reeve::import
