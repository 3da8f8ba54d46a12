#include "runtime/metrics/store_watch.h"

#include <future>
#include <latch>

#include <gtest/gtest.h>

#include "store/runs.h"
#include "tests/store/conformance.h"

// Store queries for monitoring (docs/METRICS.md).
namespace reeve::runtime {
namespace {

using Answer = std::expected<StoreFigures, base::Error>;

REEVE_CONFORMANCE(StoreWatchTest);

void add_runs(ledger::Ledger& ledger, int count) {
  ledger.call([count](ledger::Transaction& transaction) {
    for (int i = 0; i < count; ++i) store::insert_run(transaction.session(), {}, transaction.now_text());
  });
}

// Blocks the store thread in one unit until destroyed.
class Hindrance {
 public:
  explicit Hindrance(ledger::Ledger& ledger) {
    held_ = std::async(std::launch::async, [this, &ledger] {
      ledger.call([this](ledger::Transaction&) {
        begun_.count_down();
        over_.wait();
      });
    });
    begun_.wait();
  }
  ~Hindrance() {
    over_.count_down();
    held_.get();
  }
  Hindrance(const Hindrance&) = delete;
  Hindrance& operator=(const Hindrance&) = delete;

 private:
  std::latch begun_{1};
  std::latch over_{1};
  std::future<void> held_;
};

// One query and its result.
Answer ask_once(Loop& loop, StoreWatch& watch) {
  std::optional<Answer> told;
  watch.ask([&](const Answer& answer) {
    told = answer;
    loop.stop();
  });
  EXPECT_FALSE(told) << "nobody is told before the call returns";
  loop.run();
  return *told;
}

// A busy machine may take longer than the query's timeout.
Answer ask_until_answered(Loop& loop, StoreWatch& watch) {
  constexpr int most = 30;
  Answer answer = ask_once(loop, watch);
  for (int i = 1; i < most && !answer && answer.error().code() == "store.unavailable"; ++i) {
    answer = ask_once(loop, watch);
  }
  return answer;
}

// API, SPEC §7
TEST_P(StoreWatchTest, reports_the_counts_in_the_store) {
  Loop loop;
  ledger::Ledger ledger(store_.open_writer(), {});
  add_runs(ledger, 3);
  StoreWatch watch(loop, ledger);
  const Answer told = ask_until_answered(loop, watch);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(told->runs.at(model::RunStatus::queued), 3);
  EXPECT_FALSE(told->runs.contains(model::RunStatus::running));
  EXPECT_TRUE(told->executions.empty());
  EXPECT_EQ(told->pending_approvals, 0);
  EXPECT_EQ(told->oldest_pending.count(), 0);
}

// Monitoring cannot overload the store, even with a hundred scrapers.
TEST_P(StoreWatchTest, concurrent_requests_share_one_query) {
  Loop loop;
  ledger::Ledger ledger(store_.open_writer(), {});
  StoreWatch watch(loop, ledger);
  constexpr int askers = 100;
  int answered = 0;
  {
    const Hindrance hindrance(ledger);
    for (int i = 0; i < askers; ++i) {
      watch.ask([&](const Answer& answer) {
        EXPECT_TRUE(answer || answer.error().code() == "store.unavailable");
        if (++answered == askers) loop.stop();
      });
    }
    EXPECT_EQ(ledger.waiting(), 1U);
  }
  loop.run();
  EXPECT_EQ(answered, askers);
}

TEST_P(StoreWatchTest, unresponsive_store_is_reported_without_waiting) {
  Loop loop;
  ledger::Ledger ledger(store_.open_writer(), {});
  StoreWatch watch(loop, ledger);
  {
    const Hindrance hindrance(ledger);
    const Answer told = ask_once(loop, watch);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code(), "store.unavailable");
  }
  // The next query succeeds.
  EXPECT_TRUE(ask_until_answered(loop, watch));
}

}  // namespace
}  // namespace reeve::runtime
