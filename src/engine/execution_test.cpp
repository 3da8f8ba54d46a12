#include "engine/execution.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "engine/subgraph.h"
#include "json/encode.h"
#include "json/parse.h"
#include "spec/workflow_file.h"
#include "tests/support/engine/memory_execution.h"
#include "tests/support/files.h"
#include "view/problem_text.h"

namespace reeve::engine {
namespace {

using model::NodeStatus;

// A workflow from YAML, running in memory.
class Flow {
 public:
  explicit Flow(const std::string& yaml, std::string_view seeds = "{}") {
    auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("w.yaml", yaml));
    if (!parsed) throw std::runtime_error(view::problems_text(parsed.error(), {}));
    workflow_ = std::make_unique<model::Workflow>(std::move(parsed->workflow));
    compiled_ = std::make_unique<CompiledWorkflow>(*workflow_);
    execution_ = std::make_unique<testing::MemoryExecution>(*compiled_, json::parse(seeds).value());
    execution_->on(ExecutionStarted{});
  }

  testing::MemoryExecution& execution() { return *execution_; }
  std::string status() const { return std::string(base::spell(execution_->status())); }
  std::string status(const std::string& id) const { return std::string(base::spell(execution_->status_of(id))); }
  std::string inputs(const std::string& id) const { return json::encode(execution_->state_of(id).inputs); }
  std::string outputs(const std::string& id) const { return json::encode(execution_->state_of(id).outputs); }

  // Starts a node and finishes it.
  ExecutionDecision finish(const std::string& id, std::string_view outputs = "{}", bool said_yes = true) {
    const auto node = execution_->index(id);
    if (execution_->status_of(id) == NodeStatus::ready) execution_->on(NodeBegan{node});
    return execution_->on(NodeFinished{node, json::parse(outputs).value(), said_yes});
  }
  ExecutionDecision fail(const std::string& id, model::RetryOn kind = model::RetryOn::failed) {
    const auto node = execution_->index(id);
    if (execution_->status_of(id) == NodeStatus::ready) execution_->on(NodeBegan{node});
    return execution_->on(NodeFailed{node, kind, "broken"});
  }

 private:
  std::unique_ptr<model::Workflow> workflow_;
  std::unique_ptr<CompiledWorkflow> compiled_;
  std::unique_ptr<testing::MemoryExecution> execution_;
};

std::string read_example(const std::string& name) {
  return testing::read_text(testing::source_folder() / "examples/workflows" / name);
}

constexpr const char* passed = R"({"passed": true, "test_status": "passed", "output": "", "exit_code": 0})";
constexpr const char* not_passed = R"({"passed": false, "test_status": "failed", "output": "", "exit_code": 1})";

// S6's first example: the failing test that loops and then passes. GRF-5, GRF-6.
TEST(Execution, debug_example_loops_until_the_test_passes) {
  Flow flow(read_example("debug-with-retry-loop.yaml"), R"({"issue": "it crashes"})");
  EXPECT_EQ(flow.inputs("analyze"), R"({"issue":"it crashes"})");
  for (int round = 0; round < 2; ++round) {
    flow.finish("analyze", R"({"text": "null pointer"})");
    flow.finish("fix", R"({"text": "patched"})");
    flow.finish("test", not_passed, false);
    EXPECT_EQ(flow.status("analyze"), "ready") << "round " << round;
    EXPECT_EQ(flow.status("review"), "pending") << "nodes after the branch are not skipped by a loop";
    EXPECT_EQ(flow.execution().state_of("fix").iteration, round + 1);
  }
  flow.finish("analyze");
  flow.finish("fix");
  flow.finish("test", passed);
  EXPECT_EQ(flow.status("review"), "ready");
  EXPECT_EQ(flow.status(), "running");
  flow.finish("review");
  EXPECT_EQ(flow.status(), "completed");
  EXPECT_EQ(flow.execution().begun().at(flow.execution().index("fix")), 3);
}

// GRF-5: max_iterations is how often the edge may be taken.
TEST(Execution, debug_example_ends_at_its_loop_limit) {
  Flow flow(read_example("debug-with-retry-loop.yaml"));
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(flow.status(), "running");
    flow.finish("analyze");
    flow.finish("fix");
    flow.finish("test", not_passed, false);
  }
  EXPECT_EQ(flow.status(), "failed");
  EXPECT_EQ(flow.execution().reason(), "`check` reached its limit of 3 iterations");
  EXPECT_EQ(flow.status("review"), "skipped");
  EXPECT_NE(flow.outputs("check").find(
                R"("branch_outcome":"max_iterations_reached","condition_result":false,"iterations":3)"),
            std::string::npos);
}

// The loop's target receives the loop edge's data besides its previous inputs.
TEST(Execution, loop_target_receives_loop_edge_data) {
  Flow flow(read_example("debug-with-retry-loop.yaml"), R"({"issue": "it crashes"})");
  flow.finish("analyze");
  flow.finish("fix");
  flow.finish("test", not_passed, false);
  EXPECT_NE(flow.inputs("analyze").find(R"("issue":"it crashes")"), std::string::npos);
  EXPECT_NE(flow.inputs("analyze").find(R"("test_status":"failed")"), std::string::npos);
}

// S6's second example. GRF-10, GRF-12.
TEST(Execution, parallel_example_asks_after_all_gates) {
  Flow flow(read_example("parallel-review.yaml"));
  flow.finish("implement", R"({"text": "done"})");
  EXPECT_EQ(flow.status("split"), "completed");
  flow.finish("lint", passed);
  flow.finish("security", passed);
  EXPECT_EQ(flow.status("join"), "pending");
  const ExecutionDecision decision = flow.finish("test", passed);
  EXPECT_EQ(flow.status("join"), "completed");
  EXPECT_EQ(flow.status("review"), "waiting_approval");
  EXPECT_EQ(flow.status(), "waiting_approval");
  ASSERT_EQ(decision.approvals.size(), 1);
  EXPECT_EQ(decision.approvals[0].options.size(), 2) << "approve and reject by default";
  flow.finish("review", R"({"approved": true, "chosen_value": "approve", "comment": "ship it", "decided_by": "ana"})");
  EXPECT_EQ(flow.status("merge"), "ready");
  EXPECT_NE(flow.inputs("merge").find(R"("comment":"ship it")"), std::string::npos) << "S5: the comment is passed on";
  flow.finish("merge");
  EXPECT_EQ(flow.status(), "completed");
}

// GRF-12: rejected, and an edge reads it: a result, not a failure.
TEST(Execution, parallel_example_fails_on_rejection) {
  Flow flow(read_example("parallel-review.yaml"));
  flow.finish("implement");
  for (const char* gate : {"lint", "test", "security"}) flow.finish(gate, passed);
  flow.finish("review", R"({"approved": false, "chosen_value": "reject", "comment": null, "decided_by": "ana"})",
              false);
  EXPECT_EQ(flow.status("review"), "completed");
  EXPECT_EQ(flow.status("merge"), "skipped");
  EXPECT_EQ(flow.status(), "failed") << "no exit completed";
}

// GRF-7: of several failures, the first in file order is reported, whichever came last, and also when something else
// did.
TEST(Execution, reason_does_not_depend_on_completion_order) {
  const std::string yaml = R"(
id: w
name: w
entry_point: split
config: {fail_fast: false}
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [a, b, c], wait_for: all}}
  - {id: a, type: task, task_config: {role: noop}}
  - {id: b, type: task, task_config: {role: noop}}
  - {id: c, type: task, task_config: {role: noop}}
  - {id: end, type: merge, merge_config: {wait_for: all, merge_strategy: union}}
edges:
  - {id: e1, source: split, target: a}
  - {id: e2, source: split, target: b}
  - {id: e3, source: split, target: c}
  - {id: e4, source: a, target: end}
  - {id: e5, source: b, target: end}
  - {id: e6, source: c, target: end, condition: {field: c.x, operator: "==", value: 1}}
)";
  std::vector<std::string> order = {"a", "b", "c"};
  do {
    Flow flow(yaml);
    for (const std::string& node : order) {
      if (node == "c") {
        flow.finish(node);
      } else {
        flow.fail(node);
      }
    }
    EXPECT_EQ(flow.status(), "failed");
    EXPECT_EQ(flow.execution().reason(), "broken, at node `a`") << order[0] << order[1] << order[2];
  } while (std::ranges::next_permutation(order).found);
}

// GRF-6: a gate whose rejection no edge reads fails, and GRF-7: its siblings end at once.
TEST(Execution, rejecting_gate_fails_fast) {
  Flow flow(read_example("parallel-review.yaml"));
  flow.finish("implement");
  flow.execution().on(NodeBegan{flow.execution().index("lint")});
  const ExecutionDecision decision = flow.finish("test", not_passed, false);
  EXPECT_EQ(flow.status(), "failed");
  EXPECT_EQ(flow.execution().reason(), "the gate did not pass, at node `test`");
  EXPECT_EQ(flow.status("lint"), "cancelled");
  EXPECT_EQ(flow.status("security"), "cancelled");
  EXPECT_EQ(flow.status("merge"), "cancelled");
  EXPECT_EQ(decision.actions.size(), 2) << "live nodes are ended, nothing starts";
  EXPECT_TRUE(flow.finish("lint", passed).is_stale) << "a late result changes nothing";
}

constexpr const char* diamond = R"(
id: w
name: W
entry_point: a
exit_points: [end]
nodes:
  - {id: a, type: task, task_config: {role: r}}
  - {id: b, type: task, task_config: {role: r}}
  - {id: c, type: task, task_config: {role: r, retry: {attempts: 3, backoff: 2s, on: [failed_timeout]}}}
  - {id: end, type: task, wait_for_incoming: WAIT, task_config: {role: r}}
edges:
  - {id: e1, source: a, target: b}
  - {id: e2, source: a, target: c}
  - {id: e3, source: b, target: end}
  - {id: e4, source: c, target: end}
config: {fail_fast: FAST}
)";

std::string make_diamond(std::string_view wait, std::string_view fast) {
  std::string text = diamond;
  text.replace(text.find("WAIT"), 4, wait);
  text.replace(text.find("FAST"), 4, fast);
  return text;
}

// GRF-4
TEST(Execution, wait_for_any_starts_with_the_first_branch) {
  Flow flow(make_diamond("any", "true"));
  flow.finish("a");
  flow.finish("b", R"({"x": 1})");
  EXPECT_EQ(flow.status("end"), "ready");
  flow.finish("c", R"({"x": 2})");
  EXPECT_EQ(flow.inputs("end"), R"({"x":1,"b.x":1})");
}

// GRF-4, GRF-8: a later edge in the file wins, with a note.
TEST(Execution, wait_for_all_waits_and_the_later_edge_wins) {
  Flow flow(make_diamond("all", "true"));
  flow.finish("a");
  flow.finish("c", R"({"x": 2})");
  EXPECT_EQ(flow.status("end"), "pending");
  flow.finish("b", R"({"x": 1})");
  EXPECT_EQ(flow.inputs("end"), R"({"x":2,"b.x":1,"c.x":2})");
  ASSERT_EQ(flow.execution().notes().size(), 1);
  EXPECT_EQ(flow.execution().notes()[0].kind, Note::Kind::field_collision);
}

// GRF-7 without fail_fast: everything that can run runs, and a completed exit completes the execution.
TEST(Execution, without_fail_fast_the_other_branch_continues) {
  Flow flow(make_diamond("all", "false"));
  flow.finish("a");
  flow.fail("b");
  EXPECT_EQ(flow.status(), "running");
  flow.finish("c");
  EXPECT_EQ(flow.status("end"), "ready") << "all decided, one taken";
  flow.finish("end");
  EXPECT_EQ(flow.status(), "completed");
}

// GRF-14
TEST(Execution, failed_node_is_retried_until_attempts_run_out) {
  Flow flow(make_diamond("any", "true"));
  flow.finish("a");
  const ExecutionDecision first = flow.fail("c", model::RetryOn::failed_timeout);
  EXPECT_EQ(flow.status("c"), "ready");
  ASSERT_EQ(first.actions.size(), 1);
  const base::WallTime later = flow.execution().moment().now + std::chrono::seconds(2);
  EXPECT_EQ(std::get<OfferNode>(first.actions[0]), (OfferNode{flow.execution().index("c"), 0, 2, later}));
  EXPECT_TRUE(flow.execution().on(NodeBegan{flow.execution().index("c")}).is_stale) << "not before its pause has ended";
  flow.execution().moment().now = later;
  flow.fail("c", model::RetryOn::failed_timeout);
  EXPECT_EQ(flow.status("c"), "ready");
  flow.fail("c", model::RetryOn::failed_timeout);
  EXPECT_EQ(flow.status("c"), "failed") << "three attempts in all";
  Flow other(make_diamond("any", "true"));
  other.finish("a");
  other.fail("c", model::RetryOn::failed);
  EXPECT_EQ(other.status("c"), "failed") << "only what `on` names";
}

TEST(Execution, cancel_ends_every_node) {
  Flow flow(make_diamond("any", "true"));
  flow.finish("a");
  const ExecutionDecision decision = flow.execution().on(CancelRequested{"ana: enough"});
  EXPECT_EQ(flow.status(), "cancelled");
  EXPECT_EQ(flow.status("b"), "cancelled");
  EXPECT_EQ(flow.status("end"), "cancelled");
  EXPECT_EQ(decision.actions.size(), 2);
  EXPECT_TRUE(flow.execution().on(CancelRequested{"again"}).is_stale);
}

// GRF-10: `first` takes the first branch and cancels the others.
TEST(Execution, wait_for_first_cancels_the_other_branches) {
  Flow flow(R"(
id: w
name: W
entry_point: p
nodes:
  - {id: p, type: parallel, parallel_config: {branches: [a, b], wait_for: first}}
  - {id: a, type: task, task_config: {role: r}}
  - {id: b, type: task, task_config: {role: r}}
  - {id: b2, type: task, task_config: {role: r}}
  - {id: m, type: merge, merge_config: {merge_strategy: first}}
  - {id: end, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: p, target: a}
  - {id: e2, source: p, target: b}
  - {id: e3, source: b, target: b2}
  - {id: e4, source: b2, target: m}
  - {id: e5, source: a, target: m}
  - {id: e6, source: m, target: end}
)");
  flow.finish("a", R"({"winner": "a"})");
  EXPECT_EQ(flow.status("b"), "cancelled");
  EXPECT_EQ(flow.status("b2"), "skipped");
  EXPECT_EQ(flow.inputs("end"), R"({"winner":"a","m.winner":"a","a.winner":"a"})");
  flow.finish("end");
  EXPECT_EQ(flow.status(), "completed");
}

// GRF-10
TEST(Execution, intersection_keeps_common_fields) {
  Flow flow(R"(
id: w
name: W
entry_point: p
nodes:
  - {id: p, type: parallel, parallel_config: {branches: [a, b]}}
  - {id: a, type: task, task_config: {role: r}}
  - {id: b, type: task, task_config: {role: r}}
  - {id: m, type: merge, merge_config: {merge_strategy: intersection}}
edges:
  - {id: e1, source: p, target: a}
  - {id: e2, source: p, target: b}
  - {id: e3, source: a, target: m}
  - {id: e4, source: b, target: m, data_mapping: {x: y, z: z}}
)");
  flow.finish("b", R"({"y": 2, "z": 3})");
  flow.finish("a", R"({"x": 1, "w": 0})");
  EXPECT_EQ(flow.outputs("m"), R"({"x":2})");
  EXPECT_EQ(flow.status(), "completed");
}

// GRF-6: `auto_approve` answers the question after the gate.
TEST(Execution, passed_gate_can_auto_approve) {
  const std::string yaml = R"(
id: w
name: W
entry_point: g
nodes:
  - {id: g, type: gate, gate_config: {gate_type: t, auto_approve: true}}
  - {id: h, type: human, human_config: {title: T}}
edges:
  - {id: e1, source: g, target: h, condition: {field: g.exit_code, operator: ">=", value: 0}}
)";
  Flow yes(yaml);
  yes.finish("g", passed);
  EXPECT_EQ(yes.status(), "completed");
  EXPECT_NE(yes.outputs("h").find(R"("approved":true,"chosen_value":null,"comment":null,"decided_by":"gate g")"),
            std::string::npos);
  Flow no(yaml);
  no.finish("g", not_passed, false);
  EXPECT_EQ(no.status(), "waiting_approval") << "a gate that does not pass answers nothing";
}

// GRF-2: a condition that cannot be evaluated is false, with a note.
TEST(Execution, incomparable_condition_is_noted) {
  Flow flow(R"(
id: w
name: W
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: r}}
  - {id: b, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: a, target: b, condition: {field: gone, operator: "!=", value: 1}}
)");
  flow.finish("a");
  EXPECT_EQ(flow.status("b"), "skipped");
  ASSERT_EQ(flow.execution().notes().size(), 1);
  EXPECT_EQ(flow.execution().notes()[0].text, "there is no field `gone`");
}

// Data that passes through many nodes grows linearly; it must not double at each.
TEST(Execution, inputs_grow_linearly_through_many_nodes) {
  std::string yaml = "id: w\nname: W\nentry_point: n0\nnodes:\n";
  std::string edges = "edges:\n";
  for (int i = 0; i < 60; ++i) {
    yaml += "  - {id: n" + std::to_string(i) + ", type: parallel, parallel_config: {branches: [n" +
            std::to_string(i + 1) + "]}}\n";
    edges += "  - {id: e" + std::to_string(i) + ", source: n" + std::to_string(i) + ", target: n" +
             std::to_string(i + 1) + "}\n";
  }
  Flow flow(yaml + "  - {id: n60, type: task, task_config: {role: r}}\n" + edges, R"({"x": 1})");
  EXPECT_EQ(flow.execution().state_of("n60").inputs.as_object()->size(), 61);
}

// GRF-14: `flow retry` resumes at the failed nodes and redoes no completed ones.
TEST(Execution, retry_resumes_at_the_failed_nodes) {
  Flow flow(read_example("parallel-review.yaml"));
  flow.finish("implement", R"({"text": "done"})");
  flow.finish("lint", passed);
  flow.execution().on(NodeBegan{flow.execution().index("security")});
  flow.finish("test", not_passed, false);
  ASSERT_EQ(flow.status(), "failed");
  const ExecutionDecision decision = flow.execution().on(RetryRequested{});
  EXPECT_EQ(flow.status(), "running");
  EXPECT_EQ(flow.status("implement"), "completed");
  EXPECT_EQ(flow.status("lint"), "completed");
  EXPECT_EQ(flow.status("test"), "ready");
  EXPECT_EQ(flow.status("security"), "ready") << "cancelled siblings resume too";
  EXPECT_EQ(flow.status("join"), "pending");
  ASSERT_EQ(decision.actions.size(), 2);
  EXPECT_EQ(std::get<OfferNode>(decision.actions[0]).attempt, 2) << "a new attempt number";
  flow.finish("test", passed);
  flow.finish("security", passed);
  EXPECT_EQ(flow.status("review"), "waiting_approval");
  flow.finish("review", R"({"approved": true})");
  flow.finish("merge");
  EXPECT_EQ(flow.status(), "completed");
  EXPECT_EQ(flow.execution().begun().at(flow.execution().index("lint")), 1);
  EXPECT_TRUE(flow.execution().on(RetryRequested{}).is_stale) << "no failed nodes are left";
}

TEST(Execution, retry_without_fail_fast_reaches_skipped_nodes) {
  Flow flow(make_diamond("all", "false"));
  flow.finish("a");
  flow.fail("b");
  flow.fail("c");
  EXPECT_EQ(flow.status("end"), "skipped");
  ASSERT_EQ(flow.status(), "failed");
  flow.execution().on(RetryRequested{});
  EXPECT_EQ(flow.status("end"), "pending");
  flow.finish("b");
  flow.finish("c");
  flow.finish("end");
  EXPECT_EQ(flow.status(), "completed");
}

TEST(Execution, retry_asks_again_after_a_rejection) {
  Flow flow("id: w\nname: W\nentry_point: h\nnodes:\n  - {id: h, type: human, human_config: {title: T}}\nedges: []\n");
  flow.finish("h", R"({"approved": false})", false);
  ASSERT_EQ(flow.status(), "failed");
  const ExecutionDecision decision = flow.execution().on(RetryRequested{});
  EXPECT_EQ(flow.status("h"), "waiting_approval");
  EXPECT_EQ(flow.status(), "waiting_approval");
  EXPECT_EQ(decision.approvals.size(), 1);
}

TEST(Execution, retry_is_refused_where_nothing_failed) {
  Flow flow(read_example("debug-with-retry-loop.yaml"));
  EXPECT_TRUE(flow.execution().on(RetryRequested{}).is_stale) << "it still runs";
  for (int round = 0; round < 4; ++round) {
    flow.finish("analyze");
    flow.finish("fix");
    flow.finish("test", not_passed, false);
  }
  ASSERT_EQ(flow.status(), "failed");
  EXPECT_TRUE(flow.execution().on(RetryRequested{}).is_stale) << "a loop limit leaves nothing to retry";
}

TEST(Execution, duplicate_event_changes_nothing) {
  Flow flow(make_diamond("any", "true"));
  EXPECT_TRUE(flow.execution().on(ExecutionStarted{}).is_stale);
  const auto a = flow.execution().index("a");
  EXPECT_FALSE(flow.execution().on(NodeBegan{a}).is_stale);
  EXPECT_TRUE(flow.execution().on(NodeBegan{a}).is_stale);
  EXPECT_FALSE(flow.execution().on(NodeFinished{a, {}, true}).is_stale);
  EXPECT_TRUE(flow.execution().on(NodeFinished{a, {}, true}).is_stale);
  EXPECT_TRUE(flow.execution().on(NodeFinished{flow.execution().index("end"), {}, true}).is_stale);
}

// GRF-14: nodes that become ready start in the same decision if the deciding worker has free slots, up to
// max_parallel_nodes.
TEST(Execution, ready_nodes_start_while_slots_are_free) {
  Flow flow(read_example("parallel-review.yaml"));
  flow.execution().moment().room = 2;
  const ExecutionDecision decision = flow.finish("implement", R"({"text": "done"})");
  ASSERT_EQ(decision.actions.size(), 3);
  EXPECT_EQ(std::get<StartNode>(decision.actions[0]).attempt, 1);
  EXPECT_EQ(std::get<StartNode>(decision.actions[1]).attempt, 1);
  EXPECT_TRUE(std::holds_alternative<OfferNode>(decision.actions[2]));
  EXPECT_EQ(flow.execution().tally().running, 2);
  const ExecutionDecision next = flow.execution().on(RoomOffered{});
  EXPECT_EQ(next.nodes.size(), 1);
  EXPECT_EQ(flow.execution().tally().running, 3);
  EXPECT_TRUE(flow.execution().on(RoomOffered{}).is_stale) << "no ready nodes are left";
}

constexpr const char* with_subgraph = R"(
id: outer
name: outer
entry_point: inner
nodes:
  - {id: inner, type: subgraph, subgraph_config: {workflow_name: other, input_mapping: {goal: options}, output_mapping: {found: answer}}}
  - {id: after, type: task, task_config: {role: r}}
edges:
  - {id: e, source: inner, target: after}
)";

// GRF-11: a subgraph needs no worker; its child gets the mapped inputs, and its end is the node's.
TEST(Execution, a_subgraph_runs_as_a_child) {
  auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("w.yaml", with_subgraph));
  ASSERT_TRUE(parsed) << view::problems_text(parsed.error(), {});
  const CompiledWorkflow compiled(parsed->workflow);
  testing::MemoryExecution execution(compiled, json::parse(R"({"options": "peace", "x": 1})").value());
  const ExecutionDecision started = execution.on(ExecutionStarted{});
  ASSERT_EQ(started.children.size(), 1);
  EXPECT_EQ(started.children[0].workflow_name, "other");
  EXPECT_EQ(json::encode(started.children[0].seeds), R"({"goal":"peace"})");
  EXPECT_TRUE(started.actions.empty());

  ChildEnd end{
      .exits = {{0, json::parse(R"({"answer": 1, "x": 2})").value()}, {1, json::parse(R"({"answer": 3})").value()}}};
  const ExecutionEvent finished = conclude_child(compiled, 0, compiled, end);
  EXPECT_EQ(json::encode(std::get<NodeFinished>(finished).outputs), R"({"found":3})");

  end.status = model::ExecutionStatus::failed;
  end.reason = "no luck";
  const ExecutionEvent failed = conclude_child(compiled, 0, compiled, end);
  EXPECT_EQ(std::get<NodeFailed>(failed).error, "no luck, in workflow `other`");
  execution.on(failed);
  EXPECT_EQ(execution.status(), model::ExecutionStatus::failed);
  const ExecutionDecision retried = execution.on(RetryRequested{});
  ASSERT_EQ(retried.children.size(), 1);
  EXPECT_TRUE(retried.children[0].resumes) << "the child resumes at its failed nodes";
}

// Every decision is bounded: a loop without work ends the execution, whatever its limit.
TEST(Execution, loop_without_work_fails_the_execution) {
  Flow flow(R"(
id: spin
name: spin
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [check]}}
  - {id: check, type: branch, branch_config: {condition: {field: x, operator: "==", value: 1, max_iterations: 1000000}, on_true: done, on_false: split}}
  - {id: done, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: split, target: check}
  - {id: e2, source: check, target: done}
  - {id: back, source: check, target: split, is_loop_edge: true}
)",
            R"({"x": 2})");
  EXPECT_EQ(flow.status(), "failed");
  EXPECT_NE(flow.execution().reason().find("without doing any work"), std::string::npos);
}

}  // namespace
}  // namespace reeve::engine
