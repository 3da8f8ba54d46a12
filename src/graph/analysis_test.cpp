#include "graph/analysis.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/summary.h"

namespace reeve::graph {
namespace {

using model::NodeType;

struct EdgeWords {
  std::string source;
  std::string target;
  bool is_loop = false;
};

model::Workflow make_workflow(const std::vector<std::pair<std::string, NodeType>>& nodes,
                              const std::vector<EdgeWords>& edges) {
  model::Workflow workflow;
  workflow.id = workflow.name = "w";
  for (const auto& [id, type] : nodes) {
    model::Node node;
    node.id = id;
    node.type = type;
    if (type == NodeType::branch) node.branch_config = model::BranchConfig{};
    workflow.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    model::Edge edge;
    edge.id = fmt::format("e{}", i);
    edge.source = edges[i].source;
    edge.target = edges[i].target;
    edge.is_loop_edge = edges[i].is_loop;
    workflow.edges.push_back(std::move(edge));
  }
  if (!nodes.empty()) workflow.entry_point = nodes.front().first;
  return workflow;
}

std::vector<std::pair<std::string, NodeType>> tasks(std::size_t count) {
  std::vector<std::pair<std::string, NodeType>> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.emplace_back(fmt::format("n{}", i), NodeType::task);
  return nodes;
}

TEST(Graph, ignores_dangling_edges_and_duplicate_nodes) {
  const auto workflow = make_workflow({{"a", NodeType::task}, {"a", NodeType::gate}, {"b", NodeType::task}},
                                      {{"a", "b"}, {"a", "gone"}, {"gone", "b"}});
  const Graph graph(workflow);
  EXPECT_EQ(graph.find("a"), 0);
  EXPECT_EQ(graph.outgoing(0).size(), 1);
  EXPECT_EQ(graph.incoming(2).size(), 1);
  EXPECT_FALSE(graph.find("gone"));
}

// GRF-15
TEST(Analysis, finds_levels_and_critical_path) {
  const auto workflow =
      make_workflow(tasks(6), {{"n0", "n1"}, {"n0", "n2"}, {"n1", "n3"}, {"n3", "n4"}, {"n2", "n4"}, {"n4", "n5"}});
  const Graph graph(workflow);
  const Summary summary = summarize(graph);
  EXPECT_EQ(summary.levels, (std::vector<std::vector<std::string>>{{"n0"}, {"n1", "n2"}, {"n3"}, {"n4"}, {"n5"}}));
  EXPECT_EQ(summary.critical_path, (std::vector<std::string>{"n0", "n1", "n3", "n4", "n5"}));
  EXPECT_EQ(summary.exits, std::vector<std::string>{"n5"});
  EXPECT_EQ(summary.widest_level, 2);
}

// GRF-5: the body is every node between the loop edge's target and its source.
TEST(Analysis, loop_body_is_between_target_and_source) {
  const auto workflow = make_workflow({{"a", NodeType::task},
                                       {"b", NodeType::task},
                                       {"side", NodeType::task},
                                       {"c", NodeType::branch},
                                       {"d", NodeType::task}},
                                      {{"a", "b"}, {"b", "c"}, {"b", "side"}, {"c", "b", true}, {"c", "d"}});
  const Graph graph(workflow);
  const Summary summary = summarize(graph);
  ASSERT_EQ(summary.loops.size(), 1);
  EXPECT_EQ(summary.loops[0].body, (std::vector<std::string>{"b", "c"})) << "`side` does not lead back";
  EXPECT_EQ(summary.loops[0].max_iterations, 10);
}

// GRF-1
TEST(Analysis, a_cycle_needs_a_loop_edge_and_a_branch) {
  const auto kinds = [](const model::Workflow& workflow) {
    std::vector<WildCycle::Kind> result;
    for (const WildCycle& cycle : find_wild_cycles(Graph(workflow))) result.push_back(cycle.kind);
    return result;
  };
  using Kinds = std::vector<WildCycle::Kind>;
  const std::vector<std::pair<std::string, NodeType>> nodes = {
      {"a", NodeType::task}, {"b", NodeType::branch}, {"c", NodeType::task}};
  EXPECT_EQ(kinds(make_workflow(nodes, {{"a", "b"}, {"b", "a", true}, {"b", "c"}})), Kinds{});
  EXPECT_EQ(kinds(make_workflow(nodes, {{"a", "b"}, {"b", "a"}, {"b", "c"}})), Kinds{WildCycle::Kind::no_loop_edge});
  EXPECT_EQ(kinds(make_workflow(nodes, {{"a", "c"}, {"c", "a", true}})), Kinds{WildCycle::Kind::no_branch});
  EXPECT_EQ(kinds(make_workflow(nodes, {{"a", "a"}})), Kinds{WildCycle::Kind::no_loop_edge}) << "a self-loop";
}

TEST(Analysis, cycle_is_listed_in_order) {
  const auto workflow = make_workflow(tasks(4), {{"n0", "n1"}, {"n1", "n2"}, {"n2", "n3"}, {"n3", "n1"}});
  const auto cycles = find_wild_cycles(Graph(workflow));
  ASSERT_EQ(cycles.size(), 1);
  EXPECT_EQ(cycles[0].nodes, (std::vector<NodeIndex>{1, 2, 3}));
}

TEST(Analysis, branches_meet_at_the_nearest_merge) {
  const auto workflow = make_workflow({{"p", NodeType::parallel},
                                       {"a", NodeType::task},
                                       {"b", NodeType::task},
                                       {"m", NodeType::merge},
                                       {"n", NodeType::merge}},
                                      {{"p", "a"}, {"p", "b"}, {"a", "m"}, {"b", "m"}, {"m", "n"}, {"a", "n"}});
  const Graph graph(workflow);
  const Levels levels = find_levels(graph);
  const std::vector<NodeIndex> both = {1, 2};
  EXPECT_EQ(find_meeting_merge(graph, levels, both), 3);
  const auto apart = make_workflow({{"p", NodeType::parallel}, {"a", NodeType::task}, {"b", NodeType::task}},
                                   {{"p", "a"}, {"p", "b"}});
  const Graph other(apart);
  EXPECT_FALSE(find_meeting_merge(other, find_levels(other), both));
}

// A long chain must not use a stack frame per node.
TEST(Analysis, does_not_recurse) {
  std::vector<EdgeWords> edges;
  for (int i = 0; i + 1 < 20'000; ++i) edges.push_back({fmt::format("n{}", i), fmt::format("n{}", i + 1)});
  const auto workflow = make_workflow(tasks(20'000), edges);
  const Graph graph(workflow);
  EXPECT_TRUE(find_wild_cycles(graph).empty());
  EXPECT_EQ(find_critical_path(graph, find_levels(graph)).size(), 20'000);
}

// Random graphs, compared with a naive implementation.
struct RandomGraph {
  std::size_t count;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};

RandomGraph draw_graph(bool acyclic) {
  RandomGraph graph{*rc::gen::inRange<std::size_t>(1, 9), {}};
  for (std::size_t from = 0; from < graph.count; ++from) {
    for (std::size_t to = acyclic ? from + 1 : 0; to < graph.count; ++to) {
      if (*rc::gen::weightedElement<bool>({{1, true}, {3, false}})) graph.edges.emplace_back(from, to);
    }
  }
  return graph;
}

model::Workflow to_workflow(const RandomGraph& graph) {
  std::vector<EdgeWords> edges;
  for (const auto& [from, to] : graph.edges) edges.push_back({fmt::format("n{}", from), fmt::format("n{}", to)});
  return make_workflow(tasks(graph.count), edges);
}

// Whether there is a path of at least one edge.
std::vector<std::vector<bool>> find_ways(const RandomGraph& graph) {
  std::vector<std::vector<bool>> way(graph.count, std::vector<bool>(graph.count, false));
  for (const auto& [from, to] : graph.edges) way[from][to] = true;
  for (std::size_t k = 0; k < graph.count; ++k) {
    for (std::size_t i = 0; i < graph.count; ++i) {
      for (std::size_t j = 0; j < graph.count; ++j) way[i][j] = way[i][j] || (way[i][k] && way[k][j]);
    }
  }
  return way;
}

RC_GTEST_PROP(Analysis, finds_cycles_exactly_where_they_exist, ()) {
  const RandomGraph random = draw_graph(false);
  const auto workflow = to_workflow(random);
  const Graph graph(workflow);
  const auto ways = find_ways(random);
  std::size_t on_cycles = 0;
  for (std::size_t i = 0; i < random.count; ++i) on_cycles += ways[i][i] ? 1U : 0U;
  const auto cycles = find_wild_cycles(graph);
  RC_ASSERT(cycles.empty() == (on_cycles == 0));
  for (const WildCycle& cycle : cycles) {
    for (std::size_t i = 0; i < cycle.nodes.size(); ++i) {
      const auto step = std::pair<std::size_t, std::size_t>(cycle.nodes[i], cycle.nodes[(i + 1) % cycle.nodes.size()]);
      RC_ASSERT(std::ranges::find(random.edges, step) != random.edges.end());
    }
  }
}

RC_GTEST_PROP(Analysis, reachable_nodes_are_exactly_those_with_a_path, ()) {
  const RandomGraph random = draw_graph(false);
  const auto workflow = to_workflow(random);
  const auto reachable = find_reachable(Graph(workflow), 0);
  const auto ways = find_ways(random);
  for (std::size_t i = 0; i < random.count; ++i) RC_ASSERT(reachable[i] == (i == 0 || ways[0][i]));
}

RC_GTEST_PROP(Analysis, levels_are_longest_path_lengths, ()) {
  const RandomGraph random = draw_graph(true);
  const auto workflow = to_workflow(random);
  const Graph graph(workflow);
  const Levels levels = find_levels(graph);
  std::vector<std::size_t> longest(random.count, 0);
  for (std::size_t to = 0; to < random.count; ++to) {
    for (const auto& [source, target] : random.edges) {
      if (target == to) longest[to] = std::max(longest[to], longest[source] + 1);
    }
  }
  RC_ASSERT(levels.of_node == longest);
  RC_ASSERT(find_critical_path(graph, levels).size() == std::ranges::max(longest) + 1);
}

}  // namespace
}  // namespace reeve::graph
