#include "store/executions.h"

#include <gmock/gmock.h>

#include "ledger/runs.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Executions as they are shown (SPEC §7), on every store.
namespace reeve::store {
namespace {

using base::ExecutionId;
using base::Value;
using model::ExecutionStatus;
using model::NodeStatus;
using testing::claims_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::make_chain;
using testing::make_execution;
using testing::TestLedger;

REEVE_CONFORMANCE(ExecutionsTest);

std::vector<std::int64_t> numbers_of(const std::vector<model::Execution>& executions) {
  std::vector<std::int64_t> numbers;
  for (const model::Execution& execution : executions) numbers.push_back(execution.execution_id.number());
  return numbers;
}

ledger::NewExecution labelled(int length, const char* label) {
  ledger::NewExecution wanted = make_execution(make_chain(length));
  wanted.label = label;
  return wanted;
}

Value object(const char* key, const char* text) {
  Value value = Value::object();
  value.set(key, Value::string(text));
  return value;
}

TEST_P(ExecutionsTest, are_listed_newest_first_by_status_label_and_workflow) {
  TestLedger ledger(store_);
  ledger.start(labelled(2, "nightly"));
  const auto second = ledger.start(labelled(3, "nightly"));
  ledger.start(labelled(2, "release"));
  ledger.fail(claims_of(second.step).at(0), "broken");
  const auto session = store_.open_bare();
  const auto list = [&](const ExecutionFilter& filter) { return numbers_of(list_executions(*session, filter)); };
  EXPECT_THAT(list({}), ElementsAre(3, 2, 1));
  EXPECT_THAT(list({.most = 2}), ElementsAre(3, 2));
  EXPECT_THAT(list({.before = ExecutionId(3)}), ElementsAre(2, 1));
  EXPECT_THAT(list({.statuses = {ExecutionStatus::failed}}), ElementsAre(2));
  EXPECT_THAT(list({.statuses = {ExecutionStatus::failed, ExecutionStatus::running}}), ElementsAre(3, 2, 1));
  EXPECT_THAT(list({.statuses = {ExecutionStatus::waiting_approval}}), IsEmpty());
  EXPECT_THAT(list({.label = "nightly"}), ElementsAre(2, 1));
  EXPECT_THAT(list({.label = "night"}), IsEmpty());
  EXPECT_THAT(list({.workflow = "chain-2"}), ElementsAre(3, 1));
  EXPECT_THAT(list({.statuses = {ExecutionStatus::running}, .label = "nightly", .workflow = "chain-2"}),
              ElementsAre(1));
  const auto failed = list_executions(*session, {.statuses = {ExecutionStatus::failed}}).at(0);
  EXPECT_EQ(failed.workflow_id, "chain-3");
  EXPECT_EQ(failed.label, "nightly");
  EXPECT_EQ(failed.tally.failed, 1);
  EXPECT_TRUE(failed.completed_at.has_value());
  EXPECT_TRUE(failed.reason.has_value());
  EXPECT_TRUE(failed.nodes.empty());
}

TEST_P(ExecutionsTest, nodes_are_in_file_order) {
  TestLedger ledger(store_);
  ledger::NewExecution wanted = make_execution(make_chain(3), object("goal", "ship"));
  Value config = object("project", "/p");
  config.set("tools", Value::object());
  config.set("apply", Value::string("manual"));
  wanted.config = config;
  const auto started = ledger.start(wanted);
  const auto next = ledger.finish(claims_of(started.step).at(0), object("said", "hello"));
  ledger.fail(claims_of(next).at(0), "no such file");
  const auto session = store_.open_bare();
  const auto found = find_execution(*session, started.execution, NodeDetail::all);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, ExecutionStatus::failed);
  ASSERT_EQ(found->nodes.size(), 3);
  EXPECT_EQ(found->nodes[0].node_id, "n0");
  EXPECT_EQ(found->nodes[0].status, NodeStatus::completed);
  EXPECT_EQ(found->nodes[0].outputs, object("said", "hello"));
  EXPECT_EQ(found->nodes[0].inputs, object("goal", "ship"));
  EXPECT_EQ(found->nodes[1].status, NodeStatus::failed);
  EXPECT_EQ(found->nodes[1].error, "no such file");
  EXPECT_TRUE(found->nodes[1].started_at && found->nodes[1].completed_at);
  EXPECT_FALSE(found->nodes[2].started_at);
  EXPECT_EQ(found->inputs, object("goal", "ship"));
  // The frozen config stays with the daemon that runs it: it may be long, and names folders of the machine.
  ASSERT_TRUE(found->config);
  EXPECT_EQ(*found->config->find("apply")->as_string(), "manual");
  EXPECT_EQ(found->config->find("tools"), nullptr);
  const auto brief = find_execution(*session, started.execution, NodeDetail::brief);
  ASSERT_EQ(brief->nodes.size(), 3);
  EXPECT_FALSE(brief->nodes[0].outputs);
  EXPECT_EQ(brief->nodes[1].error, "no such file");
  EXPECT_THAT(find_execution(*session, started.execution, NodeDetail::none)->nodes, IsEmpty());
  EXPECT_FALSE(find_execution(*session, ExecutionId(99), NodeDetail::all));
  EXPECT_EQ(find_execution_workflow(*session, started.execution)->hash, wanted.hash);
  EXPECT_FALSE(find_execution_workflow(*session, ExecutionId(99)));
}

// GRF-11
TEST_P(ExecutionsTest, parent_node_and_child_execution_link_to_each_other) {
  TestLedger ledger(store_);
  ledger::NewExecution outer = make_execution(R"(
id: outer
name: Outer
entry_point: inner
nodes:
  - {id: inner, type: subgraph, subgraph_config: {workflow_name: ask}}
edges: []
)");
  const ledger::NewExecution inner = make_execution(R"(
id: ask
name: Ask
entry_point: ok
nodes:
  - {id: ok, type: human, human_config: {title: Ship it?}}
edges: []
)");
  outer.subgraphs.emplace("ask", ledger::NewExecution::Subgraph{inner.hash, inner.workflow});
  const auto started = ledger.start(outer);
  const auto session = store_.open_bare();
  const auto parent = find_execution(*session, started.execution, NodeDetail::brief);
  ASSERT_TRUE(parent->nodes.at(0).child_execution_id);
  const ExecutionId child = *parent->nodes[0].child_execution_id;
  const auto found = find_execution(*session, child, NodeDetail::all);
  EXPECT_EQ(found->parent, (model::ExecutionParent{started.execution, "inner"}));
  EXPECT_EQ(found->status, ExecutionStatus::waiting_approval);
  EXPECT_EQ(found->tally.waiting, 1);
  ASSERT_TRUE(found->nodes.at(0).approval_id);
  const ExecutionHistory history = read_execution_history(*session, child);
  ASSERT_EQ(history.approvals.size(), 1);
  EXPECT_EQ(history.approvals[0].approval_id, *found->nodes[0].approval_id);
  EXPECT_EQ(history.approvals[0].question, "Ship it?");
  EXPECT_THAT(read_execution_history(*session, started.execution).approvals, IsEmpty());
}

// GRF-5
TEST_P(ExecutionsTest, history_has_earlier_iterations_and_runs_in_order) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(R"(
id: loop
name: Loop
entry_point: fix
nodes:
  - {id: fix, type: task, task_config: {role: r}}
  - id: more
    type: branch
    branch_config: {condition: {field: again, operator: "==", value: "yes", max_iterations: 3}, on_true: fix, on_false: done}
  - {id: done, type: task, task_config: {role: r}}
edges:
  - {id: a, source: fix, target: more}
  - {id: b, source: more, target: fix, is_loop_edge: true}
  - {id: c, source: more, target: done}
)"));
  ledger->call([&](ledger::Transaction& transaction) {
    for (int i = 0; i < 2; ++i) {
      model::Run run;
      run.tool_name = i == 0 ? "first" : "second";
      run.execution_id = started.execution;
      run.node_id = "fix";
      insert_run(transaction.session(), run, transaction.now_text());
    }
    model::Run other;
    other.tool_name = "other";
    insert_run(transaction.session(), other, transaction.now_text());
  });
  auto step = ledger.finish(claims_of(started.step).at(0), object("again", "yes"));
  step = ledger.finish(claims_of(step).at(0), object("again", "no"));
  const auto session = store_.open_bare();
  const ExecutionHistory history = read_execution_history(*session, started.execution);
  ASSERT_EQ(history.nodes.size(), 2);
  EXPECT_EQ(history.nodes[0].node.node_id, "fix");
  EXPECT_EQ(history.nodes[0].node.iteration, 0);
  EXPECT_EQ(history.nodes[0].node.outputs, object("again", "yes"));
  EXPECT_EQ(history.nodes[1].node.node_id, "more");
  ASSERT_EQ(history.runs.size(), 2);
  EXPECT_EQ(history.runs[0].tool_name, "first");
  EXPECT_EQ(history.runs[1].tool_name, "second");
  const auto now = find_execution(*session, started.execution, NodeDetail::brief);
  EXPECT_EQ(now->nodes.at(0).iteration, 1);
}

}  // namespace
}  // namespace reeve::store
