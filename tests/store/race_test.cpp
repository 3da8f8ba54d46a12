#include <barrier>
#include <thread>

#include <fmt/format.h>

#include "ledger/leases.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Many writers at once. On PostgreSQL each has its own connections, as daemons on many machines do; a SQLite file has
// one writer, shared by many threads.
namespace reeve::ledger {
namespace {

using testing::claims_of;
using testing::make_execution;
using testing::read_column;
using testing::TestLedger;

REEVE_CONFORMANCE(RaceTest);

class Daemons {
 public:
  Daemons(const testing::TestStore& store, std::size_t count) {
    const std::size_t own = store.is_postgresql() ? count : 1;
    for (std::size_t i = 0; i < own; ++i) ledgers_.push_back(std::make_unique<TestLedger>(store));
  }
  TestLedger& operator[](std::size_t i) { return *ledgers_[i % ledgers_.size()]; }

 private:
  std::vector<std::unique_ptr<TestLedger>> ledgers_;
};

constexpr const char* asking = R"(
id: ask
name: ask
entry_point: review
nodes:
  - {id: review, type: human, human_config: {title: "Ship it?", options: [{value: a, label: A}, {value: b, label: B}]}}
  - {id: ship, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: review, target: ship}
)";

// APR-2: exactly one wins, and the others are refused with its name.
TEST_P(RaceTest, one_of_many_concurrent_decisions_wins) {
  constexpr std::size_t people = 8;
  constexpr int rounds = 20;
  Daemons daemons(store_, 4);
  std::vector<DecisionResult> results(people);
  for (int round = 1; round <= rounds; ++round) {
    daemons[0].start(make_execution(asking));
    const base::ApprovalId id(std::stoll(read_column(*store_.open_bare(), "SELECT max(number) FROM approvals")));
    std::barrier ready(static_cast<std::ptrdiff_t>(people));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < people; ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        results[i] = daemons[i].decide(
            id, {engine::Answer::Word::choose, i % 2 == 0 ? "a" : "b", {}, fmt::format("person-{}", i)});
      });
    }
    threads.clear();
    std::optional<std::string> winner;
    std::size_t begun = 0;
    for (const DecisionResult& result : results) {
      if (result.refusal) continue;
      EXPECT_FALSE(winner) << "two decided";
      winner = result.approval->decided_by;
      begun += claims_of(result.step).size();
    }
    ASSERT_TRUE(winner);
    EXPECT_EQ(begun, 1);
    for (const DecisionResult& result : results) {
      ASSERT_TRUE(result.approval);
      EXPECT_EQ(result.approval->decided_by, winner) << "everybody is told who it was";
      if (result.refusal) EXPECT_EQ(result.refusal, engine::Refusal::already_resolved);
    }
  }
  testing::expect_consistent(*store_.open_bare());
}

// GRF-13: two daemons that finish siblings at the same moment cannot miss each other; the merge starts once.
TEST_P(RaceTest, siblings_that_end_together_start_the_merge_once) {
  constexpr int rounds = 1'000;
  Daemons daemons(store_, 2);
  const NewExecution wanted = make_execution(testing::make_fan(2));
  std::array<std::vector<Claim>, 2> claims;
  std::array<StepResult, 2> results;
  std::barrier begin(3);
  std::barrier end(3);
  std::array<Claim, 2> work;
  bool is_over = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      while (true) {
        begin.arrive_and_wait();
        if (is_over) return;
        results[i] = daemons[i].finish(work[i]);
        end.arrive_and_wait();
      }
    });
  }
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const auto started = daemons[0].start(wanted);
    const auto siblings = claims_of(daemons[1].finish(claims_of(started.step).at(0)));
    EXPECT_EQ(siblings.size(), 2);
    std::ranges::copy(siblings, work.begin());
    begin.arrive_and_wait();
    end.arrive_and_wait();
    const auto first = claims_of(results[0]);
    const auto second = claims_of(results[1]);
    EXPECT_EQ(first.size() + second.size(), 1) << "round " << round;
    EXPECT_FALSE(results[0].is_stale || results[1].is_stale);
    if (!HasFailure()) EXPECT_FALSE(daemons[0].finish(first.empty() ? second[0] : first[0]).is_stale);
  }
  is_over = true;
  begin.arrive_and_wait();
  threads.clear();
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM executions WHERE status = 'completed'"),
            fmt::format("{}\n", rounds));
  testing::expect_consistent(*session);
}

// A node has one owner: of many workers that claim ready nodes, one gets each.
TEST_P(RaceTest, ready_node_is_claimed_once) {
  constexpr std::size_t workers = 4;
  Daemons daemons(store_, workers);
  auto idle = std::make_unique<TestLedger>(store_, Ledger::Options{}, 0);
  model::Workflow workflow = testing::make_fan(40);
  const auto started = idle->start(make_execution(workflow));
  const auto first = claims_of(daemons[0].on(started.execution, engine::RoomOffered{}));
  ASSERT_EQ(first.size(), 1);
  // No worker has a free slot when the fan opens.
  idle->finish(first[0]);
  std::array<std::vector<Claim>, workers> claimed;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      for (graph::NodeIndex node = 1; node <= 40; ++node) {
        for (const Claim& claim : claims_of(daemons[i].on(started.execution, engine::NodeBegan{node}))) {
          claimed[i].push_back(claim);
        }
      }
    });
  }
  threads.clear();
  std::set<graph::NodeIndex> nodes;
  std::size_t claims = 0;
  for (const auto& of_one : claimed) {
    claims += of_one.size();
    for (const Claim& claim : of_one) nodes.insert(claim.node);
  }
  EXPECT_EQ(claims, 40);
  EXPECT_EQ(nodes.size(), 40);
  testing::expect_consistent(*store_.open_bare());
}

// Events of many writers are numbered without gaps, and a reader of a number has seen all before it.
TEST_P(RaceTest, readers_never_see_a_gap) {
  Daemons daemons(store_, 3);
  std::atomic<bool> is_over = false;
  std::jthread reader([&] {
    const auto session = store_.open_reader();
    std::int64_t last = 0;
    while (!is_over) {
      session->query(store::Sql::events_since, {{"after", last}, {"most", 100}}, [&](const store::Row& row) {
        EXPECT_EQ(row.integer(0), last + 1);
        last = row.integer(0);
      });
    }
  });
  std::vector<std::jthread> writers;
  for (std::size_t i = 0; i < 3; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 0; round < 60; ++round) {
        auto claims = claims_of(daemons[i].start(make_execution(testing::make_chain(2))).step);
        while (!claims.empty()) claims = claims_of(daemons[i].finish(claims[0]));
      }
    });
  }
  writers.clear();
  is_over = true;
  reader.join();
  testing::expect_consistent(*store_.open_bare());
}

}  // namespace
}  // namespace reeve::ledger
