#include "graph/caption.h"

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::graph {

namespace {

std::string describe_value(const base::Value& value) {
  if (const bool* flag = value.as_bool()) return *flag ? "true" : "false";
  if (const std::int64_t* integer = value.as_integer()) return fmt::format("{}", *integer);
  if (const double* number = value.as_number()) return fmt::format("{}", *number);
  if (const std::string* text = value.as_string()) return base::visible(*text);
  std::vector<std::string> items;
  if (const base::Value::Array* array = value.as_array()) {
    for (const base::Value& item : *array) items.push_back(describe_value(item));
  }
  return fmt::format("[{}]", base::join(items, ", "));
}

// The main property of a node of its type; empty if the type alone is enough.
std::string describe_detail(const model::Node& node) {
  if (node.task_config) return node.task_config->role;
  if (node.gate_config) return node.gate_config->gate_type;
  if (node.branch_config) return describe_condition(node.branch_config->condition);
  if (node.merge_config && node.merge_config->wait_for == model::WaitFor::any) return "any";
  if (node.type == model::NodeType::merge) return "all";
  if (node.parallel_config) return fmt::format("wait for {}", base::spell(node.parallel_config->wait_for));
  if (node.subgraph_config) return node.subgraph_config->workflow_name;
  if (node.human_config) return node.human_config->title;
  return {};
}

}  // namespace

std::string describe_condition(const model::Condition& condition) {
  return fmt::format("{} {} {}", condition.field, base::spell(condition.operator_), describe_value(condition.value));
}

std::string describe_node(const model::Node& node) {
  const std::string detail = base::visible(describe_detail(node));
  return detail.empty() ? std::string(base::spell(node.type)) : fmt::format("{} {}", base::spell(node.type), detail);
}

std::string describe_edge(const Graph& graph, EdgeIndex edge) {
  const model::Edge& words = graph.edge(edge);
  if (words.condition && words.condition->field == "branch_outcome" &&
      words.condition->operator_ == model::Operator::equal) {
    return describe_value(words.condition->value);
  }
  if (words.condition) return describe_condition(*words.condition);
  const auto& branch = graph.node(graph.source(edge)).branch_config;
  if (branch && branch->on_true == words.target) return branch->on_false == words.target ? "" : "on_true";
  if (branch && branch->on_false == words.target) return "on_false";
  return {};
}

}  // namespace reeve::graph
