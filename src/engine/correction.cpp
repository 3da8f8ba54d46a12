#include "engine/correction.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::engine {

namespace {

using graph::EdgeIndex;
using graph::Graph;
using graph::NodeIndex;
using model::NodeStatus;

constexpr std::size_t max_obstacles = 10;

// Without what is only shown.
model::Node content_of(model::Node node) {
  node.label.reset();
  node.description.reset();
  node.ui_metadata.reset();
  return node;
}

using EdgeEnds = std::pair<std::string, std::string>;
EdgeEnds ends_of(const model::Edge& edge) { return {edge.source, edge.target}; }
std::string name_of(const model::Edge& edge) { return fmt::format("the edge {} → {}", edge.source, edge.target); }

class Corrector {
 public:
  Corrector(const ExecutionView& original, const model::Workflow& corrected, Seeds seeds)
      : view_(original), graph_(original.workflow().graph()), corrected_(corrected), seeds_(seeds) {
    std::vector<NodeIndex> all(graph_.node_count());
    std::iota(all.begin(), all.end(), NodeIndex{0});
    view_.expect(all);
    result_.workflow = corrected;
  }

  std::expected<Correction, std::vector<std::string>> correct() {
    check_frame();
    order_nodes();
    order_edges();
    if (seeds_ == Seeds::changed) collect_again(view_.workflow().entry(), "the inputs of the execution");
    if (!obstacles_.empty()) return std::unexpected(std::move(obstacles_));
    result_.fresh_inputs.assign(fresh_.begin(), fresh_.end());
    return std::move(result_);
  }

 private:
  void refuse(std::string why) {
    if (obstacles_.size() < max_obstacles) obstacles_.push_back(std::move(why));
  }

  const NodeState& state(NodeIndex node) const { return view_.node(node); }
  bool is_completed(NodeIndex node) const { return state(node).status == NodeStatus::completed; }
  bool is_skipped(NodeIndex node) const { return state(node).status == NodeStatus::skipped; }
  const std::string& id(NodeIndex node) const { return graph_.node(node).id; }

  // Properties of the whole workflow that were fixed when the execution started.
  void check_frame() {
    const model::Workflow& original = graph_.workflow();
    if (corrected_.id != original.id) {
      refuse(fmt::format("it is another workflow: its id is {}, not {}", base::quoted(corrected_.id),
                         base::quoted(original.id)));
    }
    if (corrected_.entry_point != original.entry_point) refuse("`entry_point` cannot change");
    if (corrected_.config.isolation != original.config.isolation) refuse("`config.isolation` cannot change");
    if (corrected_.config.apply != original.config.apply) refuse("`config.apply` cannot change");
  }

  void order_nodes() {
    std::map<std::string_view, const model::Node*> wanted;
    for (const model::Node& node : corrected_.nodes) wanted.emplace(node.id, &node);
    std::vector<model::Node> nodes;
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      const auto found = wanted.find(id(node));
      if (found == wanted.end()) {
        refuse(
            fmt::format("the node {} is missing: nodes can be changed and added, not removed", base::quoted(id(node))));
        continue;
      }
      check_node(node, *found->second);
      nodes.push_back(*found->second);
    }
    for (const model::Node& node : corrected_.nodes) {
      if (!graph_.find(node.id)) nodes.push_back(node);
    }
    result_.workflow.nodes = std::move(nodes);
  }

  void check_node(NodeIndex node, const model::Node& wanted) {
    const model::Node& original = graph_.node(node);
    if (content_of(original) == content_of(wanted)) return;
    if (original.type != wanted.type) {
      refuse(fmt::format("the node {} cannot become a {} node", base::quoted(wanted.id), base::spell(wanted.type)));
    } else if (is_completed(node)) {
      refuse(
          fmt::format("the node {} has completed: it is not repeated, so it cannot change", base::quoted(wanted.id)));
    } else if (wanted.type == model::NodeType::subgraph && state(node).attempt > 0) {
      refuse(fmt::format("the node {} has started its workflow, which is retried as it is", base::quoted(wanted.id)));
    }
  }

  void order_edges() {
    std::map<EdgeEnds, const model::Edge*> wanted;
    for (const model::Edge& edge : corrected_.edges) wanted.emplace(ends_of(edge), &edge);
    std::vector<model::Edge> edges;
    for (EdgeIndex index = 0; index < graph_.workflow().edges.size(); ++index) {
      const auto found = wanted.find(ends_of(graph_.edge(index)));
      if (found == wanted.end()) {
        refuse(fmt::format("{} is missing: edges can be changed and added, not removed", name_of(graph_.edge(index))));
        continue;
      }
      check_edge(index, *found->second);
      edges.push_back(*found->second);
      wanted.erase(found);
    }
    for (const model::Edge& edge : corrected_.edges) {
      if (!wanted.contains(ends_of(edge))) continue;
      check_new_edge(edge);
      edges.push_back(edge);
    }
    result_.workflow.edges = std::move(edges);
  }

  void check_edge(EdgeIndex index, const model::Edge& wanted) {
    const model::Edge& original = graph_.edge(index);
    if (wanted.is_loop_edge != original.is_loop_edge)
      refuse(fmt::format("{}: `is_loop_edge` cannot change", name_of(wanted)));
    if (!is_completed(graph_.source(index))) return;
    if (wanted.condition != original.condition) {
      refuse(fmt::format("{} was decided when {} completed: its condition cannot change", name_of(wanted),
                         base::quoted(wanted.source)));
    }
    if (wanted.data_mapping != original.data_mapping) collect_again(graph_.target(index), name_of(wanted));
  }

  void check_new_edge(const model::Edge& edge) {
    const auto source = graph_.find(edge.source);
    const auto target = graph_.find(edge.target);
    if (source && is_completed(*source) && edge.is_loop_edge) {
      refuse(fmt::format("{} is a loop edge of a node that has completed", name_of(edge)));
    }
    if (source && (is_skipped(*source) || was_given_up(*source))) {
      refuse(fmt::format("{} begins at a node that was not reached", name_of(edge)));
    }
    if (target && !edge.is_loop_edge) collect_again(*target, name_of(edge));
  }

  // Cancelled because another branch was first: its edges are decided.
  bool was_given_up(NodeIndex node) const {
    return state(node).status == NodeStatus::cancelled &&
           std::ranges::any_of(graph_.outgoing(node), [&](EdgeIndex edge) {
             return !graph_.is_loop(edge) && view_.edge(edge).state != model::EdgeState::open;
           });
  }

  void collect_again(NodeIndex node, const std::string& what) {
    if (is_completed(node) || is_skipped(node)) {
      refuse(fmt::format("{}: the node {} is {} and takes no more inputs", what, base::quoted(id(node)),
                         base::spell(state(node).status)));
    } else if (!state(node).inputs.is_null() && state(node).iteration > 0) {
      refuse(fmt::format("{}: the node {} is in a later round of its loop and keeps the inputs of that round", what,
                         base::quoted(id(node))));
    } else if (!state(node).inputs.is_null()) {
      fresh_.insert(node);
    }
  }

  const ExecutionView& view_;
  const Graph& graph_;
  const model::Workflow& corrected_;
  Seeds seeds_;
  Correction result_;
  std::set<NodeIndex> fresh_;
  std::vector<std::string> obstacles_;
};

}  // namespace

std::expected<Correction, std::vector<std::string>> correct(const ExecutionView& original,
                                                            const model::Workflow& corrected, Seeds seeds) {
  return Corrector(original, corrected, seeds).correct();
}

}  // namespace reeve::engine
