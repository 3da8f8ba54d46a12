#include "ledger/pauses.h"

#include <gmock/gmock.h>

#include "ledger/leases.h"
#include "ledger/runs.h"
#include "store/executions.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// A person pauses an execution: its subgraphs, its nodes, and its runs on this daemon and others. On every store.
namespace reeve::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_execution;

class PausesTest : public testing::Conformance {
 protected:
  // A subgraph of two sequential tasks.
  void SetUp() override {
    NewExecution wanted = make_execution(R"(
id: outer
name: Outer
entry_point: sub
nodes:
  - {id: sub, type: subgraph, subgraph_config: {workflow_name: inner}}
edges: []
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
    other_ = ledger_->call([](Transaction& transaction) {
      return register_daemon(transaction, {"there", "b"}, std::chrono::seconds(15));
    });
    const auto claims = testing::claims_of(ledger_.start(wanted).step);
    ASSERT_EQ(claims.size(), 1U);
    first_ = claims.front();
  }

  // A live run of the child, held by that daemon.
  base::RunId begin_run(std::int64_t daemon) {
    return ledger_->call([&](Transaction& transaction) {
      const base::RunId id = create_run(
          transaction, {.tool_name = "aider", .execution_id = child_, .node_id = "first", .argv = {"aider"}});
      begin_attempt(transaction, id, {.daemon = daemon, .keeper = {.host = "there", .pid = 1}, .nonce = "0a"});
      return id;
    });
  }
  void pause(bool is_paused) {
    ledger_->call([&](Transaction& transaction) {
      pause_execution(transaction, root_, {.is_paused = is_paused, .by = "ana", .daemon = own()});
    });
  }
  std::int64_t own() { return ledger_.worker().daemon; }
  std::optional<model::Run> follow(base::RunId run, bool is_paused) {
    return ledger_->call([&](Transaction& transaction) {
      return pause_run(
          transaction, run, {.attempt = 1, .epoch = 0},
          {.is_paused = is_paused, .by = {}, .time_left_ms = is_paused ? std::optional(700) : std::nullopt});
    });
  }
  bool is_paused(base::ExecutionId id) {
    return store::find_execution(*session_, id, store::NodeDetail::none).value().paused_at.has_value();
  }
  bool is_paused(base::RunId id) { return store::find_run(*session_, id).value().run.paused_at.has_value(); }
  std::vector<base::RunId> paused_of(std::int64_t daemon) {
    return ledger_->call([&](Transaction& transaction) { return find_paused_runs(transaction, daemon); });
  }
  std::string reasons() {
    return testing::read_column(*session_, "SELECT data FROM events WHERE data LIKE '% by ana%' ORDER BY seq");
  }

  testing::TestLedger ledger_{store_};
  std::unique_ptr<store::Session> session_ = store_.open_bare();
  Claim first_;
  std::int64_t other_ = 0;
  const base::ExecutionId root_{1};
  const base::ExecutionId child_{2};
};
INSTANTIATE_TEST_SUITE_P(Store, PausesTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(PausesTest, paused_execution_pauses_its_subgraph_and_starts_no_node) {
  pause(true);
  EXPECT_TRUE(is_paused(root_));
  EXPECT_TRUE(is_paused(child_));
  // A run that begins is held.
  EXPECT_TRUE(is_paused(begin_run(own())));
  EXPECT_THAT(testing::claims_of(ledger_.finish(first_)), IsEmpty());
  EXPECT_EQ(testing::node_statuses(*session_, child_), "first completed, second ready");
  pause(false);
  EXPECT_FALSE(is_paused(root_));
  EXPECT_FALSE(is_paused(child_));
  EXPECT_EQ(testing::claims_of(ledger_.on(child_, engine::RoomOffered{})).size(), 1U);
  EXPECT_THROW(ledger_->call([](Transaction& transaction) {
    pause_execution(transaction, base::ExecutionId(99), {.is_paused = true, .by = "ana"});
  }),
               base::Error);
}

// Each daemon pauses the runs that it holds; what the store says about those of others tells them to.
TEST_P(PausesTest, runs_of_other_daemons_are_paused_in_the_store) {
  const base::RunId here = begin_run(own());
  const base::RunId there = begin_run(other_);
  pause(true);
  EXPECT_FALSE(is_paused(here)) << "stored when its clock has stopped";
  EXPECT_TRUE(is_paused(there));
  EXPECT_THAT(paused_of(other_), ElementsAre(there));
  EXPECT_THAT(paused_of(own()), IsEmpty());
  EXPECT_THAT(reasons(), HasSubstr(there.text()));
  pause(true);
  EXPECT_EQ(testing::read_column(*session_, "SELECT COUNT(*) FROM events WHERE data LIKE '%paused by ana%'"), "2\n")
      << "the execution and the run, each once";
  pause(false);
  EXPECT_THAT(paused_of(other_), IsEmpty());
}

TEST_P(PausesTest, daemon_that_follows_stores_only_what_is_left_of_the_time) {
  const base::RunId run = begin_run(other_);
  EXPECT_FALSE(follow(run, true)) << "nobody has paused it, or it continues by now";
  pause(true);
  EXPECT_TRUE(follow(run, true));
  EXPECT_EQ(testing::read_column(*session_, "SELECT time_left_ms FROM run_attempts"), "700\n");
  EXPECT_FALSE(follow(run, false));
  pause(false);
  EXPECT_TRUE(follow(run, false));
  EXPECT_EQ(testing::read_column(*session_, "SELECT COUNT(*) FROM events WHERE data LIKE '% by \"%'"), "0\n");
}

TEST_P(PausesTest, run_whose_keeper_cannot_pause_is_stored_as_running) {
  const base::RunId run = begin_run(other_);
  pause(true);
  const auto refused = ledger_->call(
      [&](Transaction& transaction) { return refuse_pause(transaction, run, {.attempt = 1, .epoch = 0}); });
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->paused_at);
  EXPECT_FALSE(is_paused(run));
  EXPECT_TRUE(is_paused(child_));
  EXPECT_THAT(testing::read_column(*session_, "SELECT data FROM events ORDER BY seq DESC LIMIT 1"),
              HasSubstr("cannot be paused and continues"));
}

}  // namespace
}  // namespace reeve::ledger
