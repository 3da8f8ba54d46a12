#include <algorithm>

#include "base/error.h"
#include "engine/execution.h"
#include "graph/summary.h"

namespace reeve::engine {

using graph::EdgeIndex;
using graph::NodeIndex;

CompiledWorkflow::CompiledWorkflow(const model::Workflow& workflow)
    : graph_(workflow), levels_(graph::find_levels(graph_)), is_exit_(graph_.node_count(), false) {
  const auto entry = graph_.find(workflow.entry_point);
  REEVE_ASSERT(entry.has_value());
  entry_ = *entry;
  for (const NodeIndex exit : graph::find_exits(graph_)) is_exit_[exit] = true;
  first_of_.resize(graph_.node_count());
  for (const model::Node& node : workflow.nodes) {
    const bool is_merge = node.type == model::NodeType::merge;
    const model::WaitFor of_merge = node.merge_config ? node.merge_config->wait_for : model::WaitFor::all;
    wait_for_.push_back(is_merge ? of_merge : node.wait_for_incoming);
  }
  for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
    awaited_.push_back(static_cast<std::int64_t>(graph_.forward_incoming(node)));
  }
  for (EdgeIndex edge = 0; edge < workflow.edges.size(); ++edge) {
    // The body is needed only if the edge does not leave a branch, which is rare.
    const bool is_counted = graph_.is_loop(edge) && graph_.node(graph_.source(edge)).branch_config.has_value();
    const std::vector<NodeIndex> body =
        graph_.is_loop(edge) && !is_counted ? loop_body(edge) : std::vector<NodeIndex>();
    loop_limit_.push_back(graph_.is_loop(edge) ? graph::find_loop_limit(graph_, edge, body) : 0);
  }
  for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
    const auto& parallel = graph_.node(node).parallel_config;
    if (!parallel || parallel->wait_for == model::ParallelWait::all) continue;
    std::vector<NodeIndex> branches;
    for (const std::string& name : parallel->branches) branches.push_back(*graph_.find(name));
    const auto merge = graph::find_meeting_merge(graph_, levels_, branches);
    REEVE_ASSERT(merge.has_value());
    wait_for_[*merge] = model::WaitFor::any;
    if (parallel->wait_for == model::ParallelWait::first) first_of_[*merge] = node;
  }
}

std::vector<NodeIndex> CompiledWorkflow::between(NodeIndex parallel, NodeIndex merge) const {
  // Walks up from the merge, through nodes that are reachable from the parallel node.
  const std::vector<bool> below = graph::find_reachable(graph_, parallel);
  std::vector<bool> seen(graph_.node_count(), false);
  std::vector<NodeIndex> found = {merge};
  seen[merge] = true;
  seen[parallel] = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const EdgeIndex edge : graph_.incoming(found[i])) {
      const NodeIndex source = graph_.source(edge);
      if (graph_.is_loop(edge) || seen[source] || !below[source]) continue;
      if (levels_.of_node[source] <= levels_.of_node[parallel]) continue;
      seen[source] = true;
      found.push_back(source);
    }
  }
  found.erase(found.begin());
  std::ranges::sort(found);
  return found;
}

bool CompiledWorkflow::treats_failure_as_result(NodeIndex node) const {
  return std::ranges::any_of(graph_.outgoing(node), [&](EdgeIndex edge) {
    return graph_.edge(edge).condition.has_value() || graph_.node(graph_.target(edge)).type == model::NodeType::branch;
  });
}

std::vector<NodeIndex> CompiledWorkflow::loop_body(EdgeIndex edge) const {
  return graph::find_loop_body(graph_, levels_, edge);
}

}  // namespace reeve::engine
