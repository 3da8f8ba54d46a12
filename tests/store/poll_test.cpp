#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "ledger/due.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Which polls of the store are reported: an idle daemon sleeps through them, and the fallback of every event stays.
namespace reeve::ledger {
namespace {

using base::Milliseconds;
using store::Place;
using testing::code_of;
using testing::TestLedger;
using testing::TestStore;

constexpr std::chrono::seconds timeout(20);

// The polls of a ledger, counted.
class Polls {
 public:
  Ledger::Options options(Milliseconds poll = Milliseconds(5)) {
    return {.looked = [this] { count(reported_); },
            .is_due = [this](store::Session&, bool has_changed) { return ask(has_changed); },
            .polled = [this] { count(polled_); },
            .poll = poll};
  }

  int reported() const {
    const std::lock_guard lock(mutex_);
    return reported_;
  }
  // Waits until that many more polls have begun, and those before the last are over.
  void wait_polls(int more) {
    std::unique_lock lock(mutex_);
    const int wanted = polled_ + more;
    ASSERT_TRUE(changed_.wait_for(lock, timeout, [&] { return polled_ >= wanted; }));
  }
  void wait_report(int number) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, timeout, [&] { return reported_ >= number; })) << "no report " << number;
  }
  // How many polls asked, and with how many of them the ledger said that it has written.
  std::pair<int, int> asked() const {
    const std::lock_guard lock(mutex_);
    return {asked_, asked_changed_};
  }
  void set_due(bool is_due) {
    const std::lock_guard lock(mutex_);
    is_due_ = is_due;
  }

 private:
  void count(int& counter) {
    const std::lock_guard lock(mutex_);
    ++counter;
    changed_.notify_all();
  }
  bool ask(bool has_changed) {
    const std::lock_guard lock(mutex_);
    ++asked_;
    asked_changed_ += has_changed ? 1 : 0;
    return is_due_;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int polled_ = 0;
  int reported_ = 0;
  int asked_ = 0;
  int asked_changed_ = 0;
  bool is_due_ = false;
};

constexpr const char* some_change =
    "UPDATE schema_migrations SET applied_at = applied_at || '.' WHERE version = (SELECT min(version) FROM "
    "schema_migrations)";

class StorePoll : public ::testing::TestWithParam<Place::Kind> {
 protected:
  StorePoll() : store_(GetParam()) {}
  TestStore store_;
  Polls polls_;
};
INSTANTIATE_TEST_SUITE_P(Store, StorePoll, ::testing::Values(Place::Kind::file, Place::Kind::memory),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// The daemon sleeps through polls that find nothing.
TEST_P(StorePoll, reports_nothing_when_nothing_has_happened) {
  const Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  polls_.wait_polls(20);
  EXPECT_EQ(polls_.reported(), 1) << "only the first poll, which finds what happened without a daemon";
  EXPECT_EQ(polls_.asked().second, 0);
}

TEST_P(StorePoll, is_reported_when_something_is_due) {
  const Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  polls_.set_due(true);
  polls_.wait_report(3);
}

// APR-6: where nothing announces a foreign write (a store in memory has no file to watch), a poll finds it, though no
// approval is concerned.
TEST_P(StorePoll, finds_a_foreign_write) {
  const Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  for (int round = 2; round < 5; ++round) {
    store_.open_bare()->run_script(some_change);
    polls_.wait_report(round);
  }
  polls_.wait_polls(20);
  EXPECT_EQ(polls_.reported(), 4) << "each is reported once";
}

// What a failure left undone is tried again at a poll.
TEST_P(StorePoll, is_reported_after_a_failed_unit) {
  Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  EXPECT_EQ(code_of([&] {
              ledger.call([](Transaction&) { throw base::Error(base::ErrorCode::store_refused, "refused by a test"); });
            }),
            "store.refused");
  polls_.wait_report(2);
  polls_.wait_polls(20);
  EXPECT_EQ(polls_.reported(), 2);
}

TEST_P(StorePoll, is_reported_once_when_asked_for) {
  Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  ledger.report_next_poll();
  polls_.wait_report(2);
  polls_.wait_polls(20);
  EXPECT_EQ(polls_.reported(), 2);
}

// The daemon decides whether its own writes can have left something to do.
TEST_P(StorePoll, knows_whether_the_ledger_has_written) {
  Ledger ledger(store_.open_writer(), polls_.options());
  polls_.wait_report(1);
  ledger.call([](Transaction& transaction) { transaction.session().query_number(store::Sql::events_last, {}); });
  polls_.wait_polls(3);
  EXPECT_EQ(polls_.asked().second, 0) << "a read";
  ledger.call([](Transaction& transaction) { transaction.session().run_script(some_change); });
  polls_.wait_polls(3);
  EXPECT_GT(polls_.asked().second, 0);
  EXPECT_EQ(polls_.reported(), 1);
}

// GRF-13: the leases of other daemons expire without a write.
TEST(SharedStorePoll, is_always_reported) {
  const TestStore store(Place::Kind::postgresql);
  Polls polls;
  const Ledger ledger(store.open_writer(), polls.options());
  polls.wait_report(5);
  EXPECT_EQ(polls.asked().first, 0);
}

constexpr const char* asking = R"(
id: ask
name: ask
entry_point: review
nodes:
  - {id: review, type: human, human_config: {title: "Ship it?", expires: 10m}}
  - {id: ship, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: review, target: ship}
)";

REEVE_CONFORMANCE(DueWork);

// APR-4: expiry and reminder are found by the poll, whatever becomes of their timers.
TEST_P(DueWork, includes_an_approval_whose_time_has_come) {
  TestLedger ledger(store_);
  ledger.start(testing::make_execution(asking));
  const auto now = store_.clock().wall_now();
  const auto session = store_.open_bare();
  EXPECT_FALSE(has_due_work(*session, "here", now));
  EXPECT_TRUE(has_due_work(*session, "here", now + std::chrono::minutes(6))) << "the reminder";
  session->run_script("UPDATE approvals SET remind_at = NULL");
  EXPECT_FALSE(has_due_work(*session, "here", now + std::chrono::minutes(6)));
  EXPECT_TRUE(has_due_work(*session, "here", now + std::chrono::minutes(11))) << "the expiry";
}

// GRF-13: a ready node that no event offered a slot.
TEST_P(DueWork, includes_a_node_that_nothing_has_started) {
  TestLedger ledger(store_, {}, 0);
  const auto started = ledger.start(testing::make_execution(testing::make_chain(1)));
  EXPECT_TRUE(testing::claims_of(started.step).empty());
  const auto session = store_.open_bare();
  EXPECT_TRUE(has_due_work(*session, "here", store_.clock().wall_now() + std::chrono::seconds(1)));
  ledger.on(started.execution, engine::CancelRequested{"no longer needed"});
  EXPECT_FALSE(has_due_work(*session, "here", store_.clock().wall_now() + std::chrono::seconds(1)));
}

}  // namespace
}  // namespace reeve::ledger
