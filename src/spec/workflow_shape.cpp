#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/analysis.h"
#include "graph/graph.h"
#include "spec/workflow_check.h"

// The shape of the graph: branches and their edges, parallel sections, merges, entry and exits, cycles (GRF-1).
namespace reeve::spec {

namespace {

using base::ErrorCode;
using graph::EdgeIndex;
using graph::Graph;
using graph::NodeIndex;
using model::NodeType;

class ShapeCheck {
 public:
  ShapeCheck(const model::Workflow& workflow, const YamlNode& root, Binder& binder)
      : graph_(workflow), root_(root), binder_(binder) {
    std::set<std::string_view> ids;
    for (const model::Node& node : workflow.nodes) {
      names_.push_back(node.id);
      has_all_ids_ = has_all_ids_ && !node.id.empty() && ids.insert(node.id).second;
    }
    for (const base::Problem& problem : binder.problems().list()) {
      if (problem.severity == base::Severity::error && problem.place) {
        reported_.emplace(problem.place->line, problem.place->column);
      }
    }
    guess_edges();
  }

  void check() {
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      check_branch(node);
      check_parallel(node);
      check_merge(node);
    }
    check_reachable();
    if (check_cycles()) {
      check_exits();
      check_with_levels();
    }
  }

 private:
  // What a misspelt edge probably connects. Its mistake is reported once, at the edge; what would only follow from it
  // is not reported.
  struct GuessedEdge {
    std::optional<NodeIndex> source;
    std::optional<NodeIndex> target;
    bool is_loop = false;
  };

  std::optional<NodeIndex> guess(const std::string& name) const {
    if (const auto exact = graph_.find(name)) return exact;
    if (name.empty()) return std::nullopt;
    const auto meant = binder_.suggest(name, names_);
    return meant ? graph_.find(*meant) : std::nullopt;
  }

  void guess_edges() {
    for (EdgeIndex index = 0; index < graph_.workflow().edges.size(); ++index) {
      if (graph_.is_connected(index)) continue;
      // Further problems would not be kept.
      if (guessed_.size() == base::limits::problems_kept) break;
      const model::Edge& edge = graph_.edge(index);
      guessed_.push_back({guess(edge.source), guess(edge.target), edge.is_loop_edge});
    }
  }

  bool may_lead_to(NodeIndex node, std::string_view target) const {
    const auto goal = graph_.find(target);
    return std::ranges::any_of(guessed_,
                               [&](const GuessedEdge& edge) { return edge.source == node && edge.target == goal; });
  }

  // Whether an error in this block of the file was reported.
  bool is_faulty(const YamlNode& block) const {
    return reported_.contains({block.line, block.column}) ||
           std::ranges::any_of(block.items, [&](const YamlNode& item) { return is_faulty(item); });
  }

  const YamlNode& node_place(NodeIndex node, std::initializer_list<std::string_view> keys) const {
    return find_place(root_, "nodes", node, keys);
  }

  std::vector<std::string> targets_of(NodeIndex node) const {
    std::vector<std::string> targets;
    for (const EdgeIndex edge : graph_.outgoing(node)) targets.push_back(graph_.edge(edge).target);
    return targets;
  }

  bool leads_to(NodeIndex node, std::string_view target) const {
    return std::ranges::any_of(graph_.outgoing(node),
                               [&](EdgeIndex edge) { return graph_.edge(edge).target == target; });
  }

  void check_branch_side(NodeIndex node, std::string_view key, const std::string& target) {
    if (target.empty()) return;
    const YamlNode& place = node_place(node, {"branch_config", key});
    if (!graph_.find(target)) {
      if (has_all_ids_) binder_.report_unknown(place, ErrorCode::flow_unknown_branch_target, "node", target, names_);
    } else if (!leads_to(node, target) && !may_lead_to(node, target)) {
      binder_.report(place, ErrorCode::flow_missing_branch_edge,
                     fmt::format("no edge leads from {} to its branch target {}", base::quoted(graph_.node(node).id),
                                 base::quoted(target)),
                     fmt::format("add `{{ source: {}, target: {} }}` to `edges`", graph_.node(node).id, target));
    }
  }

  void check_branch(NodeIndex node) {
    if (!graph_.node(node).branch_config) return;
    const model::BranchConfig& branch = *graph_.node(node).branch_config;
    check_branch_side(node, "on_true", branch.on_true);
    check_branch_side(node, "on_false", branch.on_false);
    std::set<std::optional<NodeIndex>> meant;
    for (const std::string& side : {branch.on_true, branch.on_false}) {
      if (!side.empty()) meant.insert(guess(side));
    }
    for (const EdgeIndex edge : graph_.outgoing(node)) {
      const std::string& target = graph_.edge(edge).target;
      if (graph_.edge(edge).condition || meant.contains(graph_.target(edge))) continue;
      binder_.warn(
          find_place(root_, "edges", edge, {"target"}), ErrorCode::flow_edge_never_taken,
          fmt::format("{} is neither `on_true` nor `on_false` of {}: without a condition this edge is never taken",
                      base::quoted(target), base::quoted(graph_.node(node).id)),
          "give the edge a condition, or remove it");
    }
  }

  void check_parallel(NodeIndex node) {
    if (!graph_.node(node).parallel_config) return;
    const std::vector<std::string>& branches = graph_.node(node).parallel_config->branches;
    const YamlNode& list = node_place(node, {"parallel_config", "branches"});
    std::set<std::string_view> seen;
    std::set<std::optional<NodeIndex>> meant;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const YamlNode& place = list.at(i) != nullptr ? *list.at(i) : list;
      if (branches[i].empty()) {
        if (!place.is_null()) {
          binder_.report(place, ErrorCode::flow_unknown_parallel_branch, "a node name cannot be empty");
        }
      } else if (!seen.insert(branches[i]).second) {
        binder_.report(place, ErrorCode::flow_duplicate_branch,
                       fmt::format("{} is listed twice", base::quoted(branches[i])), "keep one of them");
      } else if (!graph_.find(branches[i])) {
        if (has_all_ids_) {
          binder_.report_unknown(place, ErrorCode::flow_unknown_parallel_branch, "node", branches[i], names_);
        }
        meant.insert(guess(branches[i]));
      } else if (!leads_to(node, branches[i]) && !may_lead_to(node, branches[i])) {
        binder_.report(place, ErrorCode::flow_missing_parallel_edge,
                       fmt::format("no edge leads from {} to its branch {}", base::quoted(graph_.node(node).id),
                                   base::quoted(branches[i])),
                       fmt::format("add `{{ source: {}, target: {} }}` to `edges`", graph_.node(node).id, branches[i]));
      }
    }
    if (branches.empty() && list.kind == YamlKind::sequence) {
      binder_.report(list, ErrorCode::flow_no_branches, "a parallel node needs at least one branch");
    }
    for (const EdgeIndex edge : graph_.outgoing(node)) {
      if (seen.contains(graph_.edge(edge).target) || meant.contains(graph_.target(edge))) continue;
      binder_.report(find_place(root_, "edges", edge, {"target"}), ErrorCode::flow_not_a_branch,
                     fmt::format("{} is not among the branches of {}", base::quoted(graph_.edge(edge).target),
                                 base::quoted(graph_.node(node).id)),
                     "add it to `branches`, or remove the edge");
    }
  }

  void check_merge(NodeIndex node) {
    if (graph_.node(node).type != NodeType::merge) return;
    const std::size_t incoming = graph_.forward_incoming(node);
    const auto guessed =
        std::ranges::count_if(guessed_, [&](const GuessedEdge& edge) { return edge.target == node && !edge.is_loop; });
    if (incoming + static_cast<std::size_t>(guessed) >= 2) return;
    binder_.report(node_place(node, {"id"}), ErrorCode::flow_merge_without_inputs,
                   fmt::format("the merge {} has {} incoming edge{}; it needs at least two",
                               base::quoted(graph_.node(node).id), incoming, incoming == 1 ? "" : "s"),
                   "add more edges to it, or remove the node");
  }

  void check_exits() {
    if (graph_.node_count() == 0 || !graph::find_exits(graph_).empty()) return;
    // Unknown exit points are reported where they are named.
    if (!graph_.workflow().exit_points.empty()) return;
    binder_.report(root_.find_key("nodes") != nullptr ? *root_.find_key("nodes") : root_, ErrorCode::flow_no_exit,
                   "no node is an exit: every node has an outgoing edge",
                   "list the last nodes in `exit_points`, or leave one node without outgoing edges");
  }

  // Nodes that would be reachable but for a mistake that is reported elsewhere: a misspelt edge, or the missing edge of
  // a branch.
  std::vector<NodeIndex> find_doubtful() const {
    std::vector<NodeIndex> nodes;
    for (const GuessedEdge& edge : guessed_) {
      if (edge.target) nodes.push_back(*edge.target);
    }
    const auto add = [&](NodeIndex node, const std::string& target) {
      const auto found = leads_to(node, target) ? std::nullopt : graph_.find(target);
      if (found && nodes.size() < 2 * base::limits::problems_kept) nodes.push_back(*found);
    };
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      if (const auto& branch = graph_.node(node).branch_config) {
        add(node, branch->on_true);
        add(node, branch->on_false);
      }
      if (const auto& parallel = graph_.node(node).parallel_config) {
        for (const std::string& target : parallel->branches) add(node, target);
      }
    }
    return nodes;
  }

  void check_reachable() {
    const auto entry = graph_.find(graph_.workflow().entry_point);
    // An edge without a target, which was reported, may lead to any node.
    const bool has_open_end =
        std::ranges::any_of(graph_.workflow().edges, [](const model::Edge& edge) { return edge.target.empty(); });
    if (!entry || has_open_end) return;
    std::vector<bool> reachable = graph::find_reachable(graph_, *entry);
    for (const NodeIndex start : find_doubtful()) {
      const std::vector<bool> more = graph::find_reachable(graph_, start);
      for (NodeIndex node = 0; node < graph_.node_count(); ++node) reachable[node] = reachable[node] || more[node];
    }
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      // The second node with an id is always unreachable; the duplicate is reported elsewhere.
      const bool is_shadowed = graph_.find(graph_.node(node).id) != node;
      if (reachable[node] || is_shadowed || graph_.node(node).id.empty()) continue;
      binder_.report(node_place(node, {"id"}), ErrorCode::flow_unreachable,
                     fmt::format("{} cannot be reached from the entry point {}", base::quoted(graph_.node(node).id),
                                 base::quoted(graph_.workflow().entry_point)),
                     "add an edge to it, or remove the node");
    }
  }

  std::string spell_cycle(const std::vector<NodeIndex>& cycle) const {
    constexpr std::size_t max_shown = 12;
    std::string text;
    for (std::size_t i = 0; i < cycle.size() && i < max_shown; ++i) {
      text += graph_.node(cycle[i]).id;
      text += " → ";
    }
    if (cycle.size() > max_shown) text += fmt::format("… ({} more) → ", cycle.size() - max_shown);
    return text + graph_.node(cycle.front()).id;
  }

  // The edge that closes the cycle, for the caret.
  const YamlNode& cycle_place(const std::vector<NodeIndex>& cycle) const {
    for (const EdgeIndex edge : graph_.outgoing(cycle.back())) {
      if (graph_.target(edge) == cycle.front()) return find_place(root_, "edges", edge, {"target"});
    }
    return root_;
  }

  // A misspelt `is_loop_edge` or branch block would be reported a second time as a cycle.
  bool has_faulty_part(const std::vector<NodeIndex>& cycle) const {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const NodeIndex next = cycle[(i + 1) % cycle.size()];
      if (graph_.node(cycle[i]).type == NodeType::branch && is_faulty(node_place(cycle[i], {}))) return true;
      for (const EdgeIndex edge : graph_.outgoing(cycle[i])) {
        if (graph_.target(edge) == next && is_faulty(find_place(root_, "edges", edge, {}))) return true;
      }
    }
    return false;
  }

  bool check_cycles() {
    const std::vector<graph::WildCycle> cycles = graph::find_wild_cycles(graph_);
    for (const graph::WildCycle& cycle : cycles) {
      if (!reported_.empty() && has_faulty_part(cycle.nodes)) continue;
      const bool no_edge = cycle.kind == graph::WildCycle::Kind::no_loop_edge;
      binder_.report(
          cycle_place(cycle.nodes), ErrorCode::flow_cycle_without_limit,
          fmt::format("{} never ends", spell_cycle(cycle.nodes)),
          no_edge ? "lead the cycle through a branch node with `max_iterations` and mark its edge `is_loop_edge: true`"
                  : "no branch node limits this cycle: lead it through one with `max_iterations`");
    }
    return std::ranges::none_of(cycles,
                                [](const auto& cycle) { return cycle.kind == graph::WildCycle::Kind::no_loop_edge; });
  }

  // Checks that need a topological order, which a graph with unmarked cycles does not have.
  void check_with_levels() {
    const graph::Levels levels = graph::find_levels(graph_);
    for (EdgeIndex edge = 0; edge < graph_.workflow().edges.size(); ++edge) {
      if (!graph_.is_loop(edge) || !graph_.is_connected(edge)) continue;
      if (!guessed_.empty() || !graph::find_loop_body(graph_, levels, edge).empty()) continue;
      binder_.report(find_place(root_, "edges", edge, {"is_loop_edge"}), ErrorCode::flow_loop_edge_without_loop,
                     fmt::format("this edge does not close a loop: there is no path from {} to {}",
                                 base::quoted(graph_.edge(edge).target), base::quoted(graph_.edge(edge).source)),
                     "remove `is_loop_edge`, or point the edge at an earlier node");
    }
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) check_meeting(node, levels);
  }

  void check_meeting(NodeIndex node, const graph::Levels& levels) {
    const auto& parallel = graph_.node(node).parallel_config;
    if (!parallel || parallel->wait_for == model::ParallelWait::all) return;
    std::vector<NodeIndex> branches;
    for (const std::string& name : parallel->branches) {
      if (const auto branch = graph_.find(name)) branches.push_back(*branch);
    }
    if (branches.empty() || !guessed_.empty() || graph::find_meeting_merge(graph_, levels, branches)) return;
    binder_.report(node_place(node, {"parallel_config", "wait_for"}), ErrorCode::flow_branches_never_meet,
                   fmt::format("`wait_for: {}` needs a merge node where all branches of {} meet",
                               base::spell(parallel->wait_for), base::quoted(graph_.node(node).id)),
                   "lead the branches to one merge node, or set `wait_for: all`");
  }

  Graph graph_;
  const YamlNode& root_;
  Binder& binder_;
  std::vector<std::string> names_;
  // Otherwise an unknown name may mean a node whose own id is missing or used twice, which was reported.
  bool has_all_ids_ = true;
  std::vector<GuessedEdge> guessed_;
  // Lines and columns of the errors reported so far.
  std::set<std::pair<std::size_t, std::size_t>> reported_;
};

}  // namespace

void check_shape(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  ShapeCheck(workflow, root, binder).check();
}

}  // namespace reeve::spec
