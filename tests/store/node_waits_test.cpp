#include <future>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/claims.h"
#include "ledger/leases.h"
#include "ledger/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// GRF-7: a node and the run that does its work wait together, in one transaction, on every store.
namespace reeve::ledger {
namespace {

using model::RunStatus;
using testing::claims_of;
using ::testing::IsEmpty;
using testing::read_column;
using testing::TestLedger;

constexpr const char* side_by_side = R"(
id: w
name: W
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [a, b], wait_for: all}}
  - {id: a, type: task, task_config: {role: r, task_template: x}}
  - {id: b, type: task, task_config: {role: r, task_template: x}}
  - {id: end, type: merge, merge_config: {wait_for: all, merge_strategy: union}}
edges:
  - {id: e1, source: split, target: a}
  - {id: e2, source: split, target: b}
  - {id: e3, source: a, target: end}
  - {id: e4, source: b, target: end}
config: {max_parallel_nodes: 1}
)";

class NodeWaitsTest : public testing::Conformance {
 protected:
  NodeWaitsTest() : ledger_(store_, options()) {}

  Ledger::Options options() {
    Ledger::Options options;
    options.followed = [this](const std::optional<base::Error>&, const StepResult& result) {
      const std::lock_guard lock(mutex_);
      for (const Claim& claim : claims_of(result)) followed_.push_back(claim);
    };
    return options;
  }
  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  // The claim's run, begun.
  base::RunId begin(const Claim& claim, const std::string& node) {
    return call([&](Transaction& transaction) {
      const base::RunId id =
          create_run(transaction, {.tool_name = "aider", .execution_id = claim.execution, .node_id = node});
      EXPECT_TRUE(mark_spawned(transaction, claim, id));
      begin_attempt(transaction, id, {.epoch = 4});
      return id;
    });
  }
  void move(base::RunId run, RunStatus to) {
    call([&](Transaction& transaction) { move_run(transaction, run, {.to = to}); });
  }
  std::vector<Claim> followed() {
    const std::lock_guard lock(mutex_);
    return followed_;
  }
  std::string nodes(base::ExecutionId id) { return testing::node_statuses(*session_, id); }
  std::string status(base::ExecutionId id) { return testing::execution_status(*session_, id); }

  std::mutex mutex_;
  std::vector<Claim> followed_;
  TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
};
INSTANTIATE_TEST_SUITE_P(Store, NodeWaitsTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(NodeWaitsTest, waiting_node_frees_its_slot_and_resumes_with_its_run) {
  const auto started = ledger_.start(testing::make_execution(side_by_side));
  const Claim a = claims_of(started.step).at(0);
  const base::RunId run = begin(a, "a");
  move(run, RunStatus::waiting_approval);
  EXPECT_EQ(nodes(started.execution), "split completed, a waiting_approval, b running, end pending");
  ASSERT_EQ(followed().size(), 1U) << "what became possible is told to the worker";
  const Claim b = followed().at(0);
  EXPECT_EQ(status(started.execution), "running");
  const base::RunId other = begin(b, "b");
  move(other, RunStatus::waiting_approval);
  EXPECT_EQ(status(started.execution), "waiting_approval") << "only people can move it";
  testing::expect_consistent(*session_);
  move(run, RunStatus::running);
  EXPECT_EQ(nodes(started.execution), "split completed, a running, b waiting_approval, end pending");
  EXPECT_EQ(status(started.execution), "running");
  EXPECT_FALSE(ledger_.finish(a).is_stale) << "the claim was its own all the while";
  move(other, RunStatus::completed);
  EXPECT_FALSE(ledger_.finish(b).is_stale);
  EXPECT_EQ(status(started.execution), "completed");
  testing::expect_consistent(*session_);
}

TEST_P(NodeWaitsTest, waiting_run_is_not_an_orphan) {
  const auto started = ledger_.start(testing::make_execution(side_by_side));
  const Claim a = claims_of(started.step).at(0);
  const base::RunId run = begin(a, "a");
  move(run, RunStatus::waiting_approval);
  call([&](Transaction& transaction) {
    EXPECT_THAT(find_lost(transaction, {a}), IsEmpty());
    EXPECT_THAT(find_orphans(transaction, "host", transaction.now(), 10), IsEmpty());
    EXPECT_FALSE(is_orphan(transaction, run));
    EXPECT_THAT(find_lapsed(transaction, "host", 10), IsEmpty());
  });
  // Its daemon dies: the next one adopts the run as it is.
  call([&](Transaction& transaction) { end_lease(transaction, ledger_.worker().daemon); });
  const auto adopted = call([&](Transaction& transaction) {
    std::optional<Claim> found;
    for (const LapsedClaim& lapsed : find_lapsed(transaction, "host", 10)) {
      if (lapsed.claim == a) found = adopt(transaction, lapsed.claim, ledger_.worker().daemon);
    }
    return found;
  });
  ASSERT_TRUE(adopted);
  EXPECT_EQ(nodes(started.execution).substr(0, 35), "split completed, a waiting_approval");
  EXPECT_TRUE(ledger_.finish(a).is_stale) << "its predecessor is refused";
  const auto held =
      call([&](Transaction& transaction) { return ledger_->executions().load(transaction, *adopted).has_value(); });
  EXPECT_TRUE(held);
}

TEST_P(NodeWaitsTest, cancelled_execution_ends_waiting_nodes) {
  const auto started = ledger_.start(testing::make_execution(side_by_side));
  const Claim a = claims_of(started.step).at(0);
  const base::RunId run = begin(a, "a");
  move(run, RunStatus::waiting_approval);
  const StepResult step = ledger_.on(started.execution, engine::CancelRequested{"enough"});
  bool is_told = false;
  for (const Work& work : step.work) {
    const auto* cancel = std::get_if<CancelWork>(&work);
    if (cancel != nullptr && cancel->claim == a) is_told = cancel->run == run;
  }
  EXPECT_TRUE(is_told) << "its run must be ended";
  move(run, RunStatus::cancelled);
  EXPECT_EQ(nodes(started.execution), "split completed, a cancelled, b cancelled, end cancelled");
  testing::expect_consistent(*session_);
}

// GRF-7: no run outlives its execution, on any host.
TEST_P(NodeWaitsTest, run_of_an_ended_node_is_ended_by_its_host_or_a_successor) {
  const auto started = ledger_.start(testing::make_execution(side_by_side));
  const Claim a = claims_of(started.step).at(0);
  const std::int64_t daemon = ledger_.worker().daemon;
  const base::RunId run = call([&](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "aider", .execution_id = a.execution, .node_id = "a"});
    EXPECT_TRUE(mark_spawned(transaction, a, id));
    begin_attempt(transaction, id, {.daemon = daemon, .epoch = 4, .keeper = {.host = "home"}});
    return id;
  });
  const auto orphans = [&](const std::string& host, base::Milliseconds gone_for) {
    return call(
        [&](Transaction& transaction) { return find_orphans(transaction, host, transaction.now() - gone_for, 10); });
  };
  EXPECT_THAT(orphans("home", {}), IsEmpty()) << "its node runs";
  ledger_.on(started.execution, engine::CancelRequested{"enough"});
  const auto own = orphans("home", {});
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].run, run);
  EXPECT_FALSE(own[0].lost) << "its process is ended first";
  EXPECT_THAT(orphans("other", {}), IsEmpty()) << "its host's lease holds";
  call([&](Transaction& transaction) { end_lease(transaction, daemon); });
  EXPECT_THAT(orphans("other", std::chrono::hours(1)), IsEmpty()) << "its keepers may still wait for a daemon";
  const auto lost = orphans("other", base::Milliseconds(-1));
  ASSERT_EQ(lost.size(), 1U);
  ASSERT_TRUE(lost[0].lost);
  EXPECT_TRUE(call([&](Transaction& transaction) { return end_lost_orphan(transaction, lost[0]); }));
  EXPECT_EQ(read_column(*session_, "SELECT status FROM tool_runs"), "cancelled\n");
  EXPECT_FALSE(call([&](Transaction& transaction) { return end_lost_orphan(transaction, lost[0]); })) << "it is over";
}

// A run of an earlier attempt, or without a node, moves no node.
TEST_P(NodeWaitsTest, only_the_current_run_moves_its_node) {
  const auto started = ledger_.start(testing::make_execution(side_by_side));
  const Claim a = claims_of(started.step).at(0);
  begin(a, "a");
  const base::RunId stranger = call([&](Transaction& transaction) {
    const base::RunId id =
        create_run(transaction, {.tool_name = "aider", .execution_id = started.execution, .node_id = "a"});
    begin_attempt(transaction, id, {.epoch = 4});
    return id;
  });
  move(stranger, RunStatus::waiting_approval);
  EXPECT_EQ(nodes(started.execution), "split completed, a running, b ready, end pending");
}

// GRF-7, GRF-11: while only people can move the child, only they can move its node.
TEST_P(NodeWaitsTest, a_subgraph_waits_with_its_child) {
  auto wanted = testing::make_execution(R"(
id: outer
name: Outer
entry_point: sub
nodes:
  - {id: sub, type: subgraph, subgraph_config: {workflow_name: inner}}
edges: []
)");
  const auto inner = testing::make_execution(R"(
id: inner
name: Inner
entry_point: ask
nodes:
  - {id: ask, type: human, human_config: {title: Ship?}}
  - {id: work, type: task, task_config: {role: r, task_template: x}}
edges: [{id: e1, source: ask, target: work}]
)");
  wanted.subgraphs.emplace("inner", NewExecution::Subgraph{inner.hash, inner.workflow});
  const auto started = ledger_.start(wanted);
  EXPECT_EQ(status(started.execution), "waiting_approval");
  EXPECT_EQ(nodes(started.execution), "sub waiting_approval");
  const auto decided = ledger_.decide(base::ApprovalId(1), {engine::Answer::Word::approve, {}, {}, "ana"});
  EXPECT_EQ(status(started.execution), "running");
  EXPECT_EQ(nodes(started.execution), "sub running");
  ledger_.finish(claims_of(decided.step).at(0));
  EXPECT_EQ(status(started.execution), "completed");
  testing::expect_consistent(*session_);
}

}  // namespace
}  // namespace reeve::ledger
