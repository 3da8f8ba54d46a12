#include <gmock/gmock.h>

#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// GRF-11, GRF-14: a retry continues inside subgraphs, and repeats nothing that completed. On every store.
namespace reeve::ledger {
namespace {

using testing::claims_of;
using testing::make_execution;
using testing::TestLedger;

class RetryChildTest : public testing::Conformance {
 protected:
  RetryChildTest() : ledger_(store_) {}

  // `other` runs in parallel with a subgraph of two sequential tasks.
  TestLedger::Started start() {
    NewExecution wanted = make_execution(R"(
id: outer
name: Outer
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [other, sub], wait_for: all}}
  - {id: other, type: task, task_config: {role: r, task_template: x}}
  - {id: sub, type: subgraph, subgraph_config: {workflow_name: inner}}
  - {id: end, type: merge, merge_config: {wait_for: all, merge_strategy: union}}
edges:
  - {id: e1, source: split, target: other}
  - {id: e2, source: split, target: sub}
  - {id: e3, source: other, target: end}
  - {id: e4, source: sub, target: end}
)");
    const NewExecution inner = make_execution(R"(
id: inner
name: Inner
entry_point: first
nodes:
  - {id: first, type: task, task_config: {role: r, task_template: x}}
  - {id: second, type: task, task_config: {role: r, task_template: x}}
edges: [{id: e1, source: first, target: second}]
)");
    wanted.subgraphs.emplace("inner", NewExecution::Subgraph{inner.hash, inner.workflow});
    return ledger_.start(wanted);
  }
  static Claim of(const StepResult& step, base::ExecutionId execution) {
    for (const Claim& claim : claims_of(step)) {
      if (claim.execution == execution) return claim;
    }
    ADD_FAILURE() << "nothing of " << execution.text() << " begins";
    return {};
  }
  std::string nodes(base::ExecutionId id) { return testing::node_statuses(*session_, id); }
  std::string status(base::ExecutionId id) { return testing::execution_status(*session_, id); }

  TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
  const base::ExecutionId root_{1};
  const base::ExecutionId child_{2};
};
INSTANTIATE_TEST_SUITE_P(Store, RetryChildTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(RetryChildTest, child_cancelled_with_its_root_resumes_with_it) {
  const auto started = start();
  const StepResult second = ledger_.finish(of(started.step, child_));
  ledger_.fail(of(started.step, root_));
  EXPECT_EQ(status(root_), "failed");
  EXPECT_EQ(status(child_), "cancelled");
  EXPECT_TRUE(ledger_.finish(of(second, child_)).is_stale);
  const StepResult retried = ledger_.on(root_, engine::RetryRequested{});
  EXPECT_FALSE(retried.is_stale);
  EXPECT_EQ(status(child_), "running");
  EXPECT_EQ(nodes(child_), "first completed, second running") << "what completed is not redone";
  EXPECT_EQ(nodes(root_), "split completed, other running, sub running, end pending");
  ledger_.finish(of(retried, child_));
  ledger_.finish(of(retried, root_));
  EXPECT_EQ(status(child_), "completed");
  EXPECT_EQ(status(root_), "completed");
  EXPECT_EQ(testing::read_column(*session_, "SELECT count(*) FROM executions"), "2\n") << "no other child was begun";
  testing::expect_consistent(*session_);
}

TEST_P(RetryChildTest, failed_child_resumes_at_the_failed_node) {
  const auto started = start();
  const StepResult second = ledger_.finish(of(started.step, child_));
  ledger_.fail(of(second, child_));
  EXPECT_EQ(status(child_), "failed");
  EXPECT_EQ(status(root_), "failed");
  const StepResult retried = ledger_.on(root_, engine::RetryRequested{});
  EXPECT_EQ(nodes(child_), "first completed, second running");
  ledger_.finish(of(retried, child_));
  ledger_.finish(of(retried, root_));
  EXPECT_EQ(status(root_), "completed");
  testing::expect_consistent(*session_);
}

// A person cancelled only the child: its node failed with it.
TEST_P(RetryChildTest, child_cancelled_by_a_person_resumes_with_its_root) {
  const auto started = start();
  ledger_.on(child_, engine::CancelRequested{"enough"});
  EXPECT_EQ(status(root_), "failed");
  const StepResult retried = ledger_.on(root_, engine::RetryRequested{});
  EXPECT_EQ(nodes(child_), "first running, second pending");
  EXPECT_EQ(of(retried, child_).attempt, 2);
}

TEST_P(RetryChildTest, cancelled_execution_cannot_be_retried_alone) {
  start();
  ledger_.on(child_, engine::CancelRequested{"enough"});
  EXPECT_TRUE(ledger_.on(child_, engine::RetryRequested{}).is_stale);
  EXPECT_EQ(status(child_), "cancelled");
  const auto whole = start();
  ledger_.on(whole.execution, engine::CancelRequested{"enough"});
  EXPECT_TRUE(ledger_.on(whole.execution, engine::RetryRequested{}).is_stale);
  EXPECT_EQ(status(whole.execution), "cancelled");
}

}  // namespace
}  // namespace reeve::ledger
