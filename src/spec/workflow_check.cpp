#include "spec/workflow_check.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "spec/references.h"

namespace reeve::spec {

const YamlNode& find_place(const YamlNode& root, std::string_view list, std::size_t index,
                           std::initializer_list<std::string_view> keys) {
  const YamlNode* place = &root;
  if (const YamlNode* found = root.find(list)) place = found;
  if (const YamlNode* found = place->at(index)) place = found;
  for (const std::string_view key : keys) {
    const YamlNode* found = place->find(key);
    if (found == nullptr) break;
    place = found;
  }
  return *place;
}

void check_workflow(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                    Binder& binder) {
  check_names(workflow, root, binder);
  check_inputs(workflow, root, binder);
  check_node_configs(workflow, root, context, binder);
  check_conditions(workflow, root, binder);
  check_shape(workflow, root, binder);
  check_template_names(workflow, root, context, binder);
  check_subgraphs(workflow, root, context, binder);
}

namespace {

using base::ErrorCode;

// Ids of nodes or edges: well-formed and unique.
template <class Things>
void check_ids(const Things& things, std::string_view list, std::string_view noun, ErrorCode duplicate,
               const YamlNode& root, Binder& binder) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < things.size(); ++i) {
    const std::string& id = things[i].id;
    if (id.empty()) continue;
    const YamlNode& place = find_place(root, list, i, {"id"});
    check_name(id, noun, place, binder);
    const auto [first, is_new] = seen.emplace(id, i);
    if (!is_new) {
      const std::size_t line = find_place(root, list, first->second, {"id"}).line;
      binder.report(place, duplicate,
                    fmt::format("two {}s have the id {}, the first on line {}", noun, base::quoted(id), line),
                    "give one of them another id");
    }
  }
}

void check_edge_pairs(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  std::set<std::pair<std::string_view, std::string_view>> pairs;
  for (std::size_t i = 0; i < workflow.edges.size(); ++i) {
    const model::Edge& edge = workflow.edges[i];
    if (edge.source.empty() || edge.target.empty() || pairs.emplace(edge.source, edge.target).second) continue;
    binder.report(find_place(root, "edges", i, {"source"}), ErrorCode::flow_duplicate_edge,
                  fmt::format("a second edge from {} to {}", base::quoted(edge.source), base::quoted(edge.target)),
                  "keep one; a condition can use `in` to match several values");
  }
}

}  // namespace

// Ids, and every reference to a node: edge endpoints, entry point, exit points.
void check_names(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  if (const YamlNode* id = root.find("id")) check_name(workflow.id, "workflow", *id, binder);
  check_ids(workflow.nodes, "nodes", "node", ErrorCode::flow_duplicate_node_id, root, binder);
  check_ids(workflow.edges, "edges", "edge", ErrorCode::flow_duplicate_edge_id, root, binder);
  check_edge_pairs(workflow, root, binder);

  std::set<std::string_view> ids;
  std::vector<std::string> names;
  for (const model::Node& node : workflow.nodes) {
    if (!node.id.empty() && ids.insert(node.id).second) names.push_back(node.id);
  }
  if (const YamlNode* nodes = root.find("nodes"); nodes != nullptr && nodes->kind == YamlKind::sequence) {
    if (nodes->items.empty()) binder.report(*nodes, ErrorCode::flow_no_nodes, "a workflow needs at least one node");
  }
  // If no node has an id, every name would be unknown; the nodes' errors have been reported already.
  if (names.empty()) return;
  // A name that matches no node then probably means a node whose own id is missing or used twice, which was reported.
  const bool has_all_ids = names.size() == workflow.nodes.size();
  const auto check = [&](const YamlNode& place, base::ErrorCode code, const std::string& id) {
    if (has_all_ids && !id.empty() && !ids.contains(id)) binder.report_unknown(place, code, "node", id, names);
  };
  for (std::size_t i = 0; i < workflow.edges.size(); ++i) {
    check(find_place(root, "edges", i, {"source"}), ErrorCode::flow_unknown_source, workflow.edges[i].source);
    check(find_place(root, "edges", i, {"target"}), ErrorCode::flow_unknown_target, workflow.edges[i].target);
  }
  if (const YamlNode* entry = root.find("entry_point")) {
    check(*entry, ErrorCode::flow_unknown_entry_point, workflow.entry_point);
  }
  for (std::size_t i = 0; i < workflow.exit_points.size(); ++i) {
    const YamlNode* list = root.find("exit_points");
    const YamlNode* place = list != nullptr ? list->at(i) : nullptr;
    if (place != nullptr && place->text.empty()) {
      binder.report(*place, ErrorCode::flow_unknown_exit_point, "a node name cannot be empty");
    } else if (place != nullptr) {
      check(*place, ErrorCode::flow_unknown_exit_point, workflow.exit_points[i]);
    }
  }
}

}  // namespace reeve::spec
