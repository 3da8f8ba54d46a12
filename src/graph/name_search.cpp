#include "graph/name_search.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "model/agent.h"

namespace reeve::graph {

namespace {

using model::NodeType;

// Edges looked at for all templates of a workflow.
constexpr std::size_t max_steps = 5'000'000;

// A task also has the keys of its result.
constexpr std::string_view task_fields[] = {"status", "exit_code", "summary", "text"};
constexpr std::string_view gate_fields[] = {"passed", "test_status", "output", "exit_code", "warning"};
constexpr std::string_view branch_fields[] = {"branch_outcome", "condition_result", "iterations"};
constexpr std::string_view human_fields[] = {"approved", "chosen_value", "comment", "decided_by"};

// GRF-9: the fields that a node of this type adds itself.
std::span<const std::string_view> own_fields(NodeType type) {
  switch (type) {
    case NodeType::gate:
      return gate_fields;
    case NodeType::branch:
      return branch_fields;
    case NodeType::human:
      return human_fields;
    case NodeType::task:
    case NodeType::merge:
    case NodeType::parallel:
    case NodeType::subgraph:
      return {};
  }
  return {};
}

// Only passes its inputs on. With gates or an apply, it has outputs of its own.
bool is_noop(const model::Node& node) {
  const bool is_idle = node.task_config && node.task_config->role == model::noop_role;
  return is_idle && node.task_config->gates.empty() && !node.apply;
}

// Whether the node's inputs are part of its output.
bool passes_inputs(const model::Node& node) {
  switch (node.type) {
    case NodeType::task:
      return is_noop(node);
    case NodeType::branch:
    case NodeType::merge:
    case NodeType::parallel:
    case NodeType::human:
      return true;
    case NodeType::gate:
    case NodeType::subgraph:
      return false;
  }
  return false;
}

// Whether the output may have any field.
bool is_open(const model::Node& node) {
  const bool is_mapped = node.subgraph_config && !node.subgraph_config->output_mapping.empty();
  return (node.type == NodeType::task && !is_noop(node)) || (node.type == NodeType::subgraph && !is_mapped);
}

bool may_be_missing(const model::WorkflowInput& input) { return !model::is_required(input) && !input.default_; }

}  // namespace

NameSearch::NameSearch(const Graph& graph)
    : graph_(graph), steps_left_(max_steps), visited_(2 * std::size_t{graph.node_count()}, 0) {
  const auto entry = graph.find(graph.workflow().entry_point);
  has_entry_ = entry.has_value();
  entry_ = entry.value_or(0);
}

bool NameSearch::can_arrive(NodeIndex node, std::string_view name, Optional optional) {
  // As engine::find_field() looks it up: the whole name, else a field within an object of a shorter name.
  for (std::size_t end = name.size(); end != std::string_view::npos && end > 0; end = name.rfind('.', end - 1)) {
    Query query{.name = name.substr(0, end), .field = {}, .is_whole = end == name.size(), .optional = optional};
    const std::size_t dot = query.name.find('.');
    const bool is_single = dot != std::string_view::npos && query.name.find('.', dot + 1) == std::string_view::npos;
    if (is_single) query.field = query.name.substr(dot + 1);
    if (search(node, query)) return true;
  }
  return false;
}

bool NameSearch::search(NodeIndex start, const Query& query) {
  ++searches_;
  open_.clear();
  visit(start, Part::name);
  while (!open_.empty()) {
    const Stop stop = open_.back();
    open_.pop_back();
    const std::string_view name = stop.part == Part::name ? query.name : query.field;
    if (has_entry_ && stop.node == entry_ && is_seeded(name, query)) return true;
    for (const EdgeIndex edge : graph_.incoming(stop.node)) {
      if (steps_left_ == 0) return true;
      --steps_left_;
      if (delivers(edge, stop.part, query)) return true;
    }
  }
  return false;
}

bool NameSearch::is_seeded(std::string_view name, const Query& query) const {
  const auto& inputs = graph_.workflow().inputs;
  if (!inputs) return true;
  const auto found = std::ranges::find(*inputs, name, &model::WorkflowInput::name);
  if (found == inputs->end() || !query.is_whole) return false;
  return query.optional == Optional::counted || !may_be_missing(*found);
}

bool NameSearch::delivers(EdgeIndex edge, Part part, const Query& query) {
  const NodeIndex source = graph_.source(edge);
  const std::string_view name = part == Part::name ? query.name : query.field;
  const auto& mapping = graph_.edge(edge).data_mapping;
  // `node.field`: the field of this source.
  const bool is_own = part == Part::name && !query.field.empty() &&
                      name.substr(0, name.size() - query.field.size() - 1) == graph_.node(source).id;
  if (!mapping.empty()) {
    return mapping.contains(std::string(name)) || (is_own && mapping.contains(std::string(query.field)));
  }
  return has_output(source, part, query) || (is_own && has_output(source, Part::field, query));
}

bool NameSearch::has_output(NodeIndex source, Part part, const Query& query) {
  const model::Node& node = graph_.node(source);
  if (is_open(node)) return true;
  const std::string_view name = part == Part::name ? query.name : query.field;
  if (node.subgraph_config && node.subgraph_config->output_mapping.contains(std::string(name))) return true;
  if (query.is_whole && std::ranges::find(own_fields(node.type), name) != own_fields(node.type).end()) return true;
  if (passes_inputs(node)) visit(source, part);
  return false;
}

void NameSearch::visit(NodeIndex node, Part part) {
  std::uint32_t& last = visited_[2 * std::size_t{node} + static_cast<std::size_t>(part)];
  if (last == searches_) return;
  last = searches_;
  open_.push_back({node, part});
}

std::vector<std::string> NameSearch::list(NodeIndex node, std::size_t most) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (names.size() < most && seen.insert(name).second) names.push_back(name);
  };
  ++searches_;
  std::vector<NodeIndex> near = {node};
  for (std::size_t i = 0; i < near.size() && names.size() < most; ++i) {
    if (has_entry_ && near[i] == entry_ && graph_.workflow().inputs) {
      for (const model::WorkflowInput& input : *graph_.workflow().inputs) add(input.name);
    }
    for (const EdgeIndex edge : graph_.incoming(near[i])) {
      const NodeIndex source = graph_.source(edge);
      const model::Node& words = graph_.node(source);
      const auto& mapping = graph_.edge(edge).data_mapping;
      for (const auto& [target, _] : mapping) add(target);
      if (!mapping.empty()) continue;
      for (const std::string& field : list_own(source)) add(field);
      std::uint32_t& last = visited_[2 * std::size_t{source}];
      if (!passes_inputs(words) || last == searches_) continue;
      last = searches_;
      near.push_back(source);
    }
  }
  return names;
}

std::vector<std::string> NameSearch::list_own(NodeIndex node) const {
  const model::Node& words = graph_.node(node);
  std::vector<std::string> names;
  for (const std::string_view field : own_fields(words.type)) names.emplace_back(field);
  if (words.type == NodeType::task && is_open(words)) names.assign(std::begin(task_fields), std::end(task_fields));
  if (words.subgraph_config) {
    for (const auto& [target, _] : words.subgraph_config->output_mapping) names.push_back(target);
  }
  return names;
}

}  // namespace reeve::graph
