#include "tests/support/engine/random_workflow.h"

#include <string>
#include <vector>

namespace reeve::testing {

namespace {

using model::Node;
using model::NodeType;

// A part of the graph with one entry and one exit.
struct Block {
  std::string entry;
  std::string exit;
};

class Builder {
 public:
  Builder(base::Random& random, const WorkflowShape& options) : random_(random), options_(options) {}

  model::Workflow build() {
    workflow_.id = workflow_.name = "random";
    const Block whole = block(options_.depth);
    workflow_.entry_point = whole.entry;
    workflow_.exit_points = {whole.exit};
    workflow_.config.fail_fast = options_.fail_fast;
    workflow_.config.max_parallel_nodes = static_cast<std::int64_t>(1 + draw(6));
    return std::move(workflow_);
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_.below(below); }

  Node& add(NodeType type) {
    Node& node = workflow_.nodes.emplace_back();
    node.id = "n" + std::to_string(workflow_.nodes.size());
    node.type = type;
    return node;
  }

  void connect(const std::string& from, const std::string& to, bool is_loop = false) {
    model::Edge& edge = workflow_.edges.emplace_back();
    edge.id = "e" + std::to_string(workflow_.edges.size());
    edge.source = from;
    edge.target = to;
    edge.is_loop_edge = is_loop;
  }

  Block single(NodeType type) {
    Node& node = add(type);
    if (type == NodeType::task) node.task_config = model::TaskConfig{.role = "r"};
    if (type == NodeType::gate) node.gate_config = model::GateConfig{.gate_type = "g"};
    if (type == NodeType::human) node.human_config = model::HumanConfig{.title = "T"};
    if (type == NodeType::task && draw(4) == 0) node.task_config->retry = model::Retry{.attempts = 2};
    return {node.id, node.id};
  }

  std::string branch_on_x() {
    Node& node = add(NodeType::branch);
    node.branch_config.emplace();
    node.branch_config->condition.field = "x";
    node.branch_config->condition.operator_ = model::Operator::greater;
    node.branch_config->condition.value = base::Value::integer(static_cast<std::int64_t>(draw(10)));
    node.branch_config->condition.max_iterations = static_cast<std::int64_t>(1 + draw(3));
    return node.id;
  }

  Node& find(const std::string& id) {
    for (Node& node : workflow_.nodes) {
      if (node.id == id) return node;
    }
    std::abort();
  }

  Block sequence(int depth) {
    const Block first = block(depth - 1);
    const Block second = block(depth - 1);
    connect(first.exit, second.entry);
    return {first.entry, second.exit};
  }

  // The two branches join in a task that waits for whichever was chosen.
  Block fork(int depth) {
    const std::string branch = branch_on_x();
    const Block yes = block(depth - 1);
    const Block no = block(depth - 1);
    const Block join = single(NodeType::task);
    find(branch).branch_config->on_true = yes.entry;
    find(branch).branch_config->on_false = no.entry;
    connect(branch, yes.entry);
    connect(branch, no.entry);
    connect(yes.exit, join.entry);
    connect(no.exit, join.entry);
    find(join.entry).wait_for_incoming = draw(2) == 0 ? model::WaitFor::any : model::WaitFor::all;
    return {branch, join.exit};
  }

  Block spread(int depth) {
    const std::string split = add(NodeType::parallel).id;
    const std::size_t width = 2 + draw(3);
    std::vector<Block> branches;
    for (std::size_t i = 0; i < width; ++i) branches.push_back(block(depth - 1));
    Node& merge = add(NodeType::merge);
    const std::string merge_id = merge.id;
    merge.merge_config = model::MergeConfig{
        .wait_for = options_.allows_races && draw(4) == 0 ? model::WaitFor::any : model::WaitFor::all,
        .merge_strategy = draw(3) == 0 ? model::MergeStrategy::intersection : model::MergeStrategy::union_};
    model::ParallelConfig config;
    if (options_.allows_races) config.wait_for = static_cast<model::ParallelWait>(draw(3));
    for (const Block& branch : branches) {
      config.branches.push_back(branch.entry);
      connect(split, branch.entry);
      connect(branch.exit, merge_id);
    }
    find(split).parallel_config = config;
    return {split, merge_id};
  }

  Block repeat(int depth) {
    const Block body = block(depth - 1);
    const std::string check = branch_on_x();
    const Block after = single(NodeType::task);
    find(check).branch_config->on_true = after.entry;
    find(check).branch_config->on_false = body.entry;
    connect(body.exit, check);
    connect(check, after.entry);
    connect(check, body.entry, true);
    return {body.entry, after.exit};
  }

  Block call_subgraph() {
    Node& node = add(NodeType::subgraph);
    node.subgraph_config = model::SubgraphConfig{.workflow_name = options_.subgraphs[draw(options_.subgraphs.size())]};
    return {node.id, node.id};
  }

  Block block(int depth) {
    if (depth <= 0 && !options_.subgraphs.empty() && draw(6) == 0) return call_subgraph();
    if (depth <= 0) {
      const std::uint64_t kind = draw(6);
      return single(kind == 0 ? NodeType::gate : kind == 1 ? NodeType::human : NodeType::task);
    }
    switch (draw(5)) {
      case 0:
        return fork(depth);
      case 1:
        return spread(depth);
      case 2:
        return repeat(depth);
      default:
        return sequence(depth);
    }
  }

  base::Random& random_;
  const WorkflowShape& options_;
  model::Workflow workflow_;
};

}  // namespace

model::Workflow make_random_workflow(base::Random& random, const WorkflowShape& options) {
  return Builder(random, options).build();
}

}  // namespace reeve::testing
