#include <future>
#include <thread>

#include <fmt/format.h>

#include "ledger/audit_check.h"
#include "ledger/runs.h"
#include "ledger/units.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// The group commit: a failing unit never affects its neighbours, and nothing is reported before it is durable.
namespace reeve::ledger {
namespace {

using testing::read_column;
using testing::TestLedger;

REEVE_CONFORMANCE(CommitTest);

// Blocks the store thread until it is released, so that units submitted meanwhile form one group.
class Held {
 public:
  explicit Held(Ledger& ledger) {
    auto begun = began_.get_future();
    struct Hold final : Unit {
      Held& held;
      explicit Hold(Held& owner) : held(owner) {}
      void run(Transaction& /*transaction*/) override {}
      void finish(const std::optional<base::Error>& /*error*/) override {
        held.began_.set_value();
        held.released_.get_future().wait();
      }
    };
    EXPECT_TRUE(ledger.submit(std::make_unique<Hold>(*this)));
    begun.wait();
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> began_;
  std::promise<void> released_;
};

// Runs a function and keeps its result.
class Probe final : public Unit {
 public:
  using Told = std::promise<std::optional<base::Error>>;
  Probe(std::function<void(Transaction&)> act, Told told) : act_(std::move(act)), told_(std::move(told)) {}
  void run(Transaction& transaction) override { act_(transaction); }
  void finish(const std::optional<base::Error>& error) override { told_.set_value(error); }

 private:
  std::function<void(Transaction&)> act_;
  Told told_;
};

std::future<std::optional<base::Error>> submit(Ledger& ledger, std::function<void(Transaction&)> act) {
  Probe::Told told;
  auto answer = told.get_future();
  EXPECT_TRUE(ledger.submit(std::make_unique<Probe>(std::move(act), std::move(told))));
  return answer;
}

void create(Transaction& transaction, const std::string& tool) { create_run(transaction, {.tool_name = tool}); }

TEST_P(CommitTest, a_failing_unit_does_not_harm_its_neighbours) {
  std::size_t commits = 0;
  TestLedger ledger(store_, {.hooks = {.publish = [&](std::span<const StoredEvent>) { ++commits; }}});
  Held held(*ledger);
  std::vector<std::future<std::optional<base::Error>>> answers;
  answers.push_back(submit(*ledger, [](Transaction& t) { create(t, "first"); }));
  // Each kind of failure: refused by the database, thrown by the unit, a bug, a permanent conflict.
  answers.push_back(submit(*ledger, [](Transaction& t) {
    create(t, "refused");
    t.session().write(store::Sql::event_insert, {{"seq", 1}, {"at", "t"}, {"kind", "nonsense"}, {"data", "{}"}});
  }));
  answers.push_back(submit(*ledger, [](Transaction& t) {
    create(t, "thrown");
    throw base::Error(base::ErrorCode::run_not_found, "no");
  }));
  answers.push_back(submit(*ledger, [](Transaction& t) {
    create(t, "bug");
    throw std::logic_error("a bug");
  }));
  answers.push_back(submit(*ledger, [](Transaction& t) {
    create(t, "conflict");
    t.session().write(store::Sql::daemon_end, {{"now", "t"}, {"daemon", 999}});
  }));
  answers.push_back(submit(*ledger, [](Transaction& t) { create(t, "last"); }));
  held.release();
  std::vector<std::string> codes;
  for (auto& answer : answers) {
    const auto error = answer.get();
    codes.push_back(error ? error->code() : "");
  }
  EXPECT_EQ(codes,
            (std::vector<std::string>{"", "store.refused", "run.not_found", "store.failed", "store.conflict", ""}));
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT tool_name FROM tool_runs ORDER BY number"), "first\nlast\n");
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM events"), "2\n");
  EXPECT_EQ(commits, 2) << "one by one after the group was undone";
  testing::expect_consistent(*session);
}

TEST_P(CommitTest, many_units_share_one_commit) {
  std::vector<std::size_t> commits;
  std::vector<std::int64_t> numbers;
  TestLedger ledger(store_, {.hooks = {.publish = [&](std::span<const StoredEvent> events) {
                               commits.push_back(events.size());
                               for (const StoredEvent& event : events) numbers.push_back(event.seq);
                             }}});
  Held held(*ledger);
  std::vector<std::future<std::optional<base::Error>>> answers;
  for (int i = 0; i < 100; ++i) {
    answers.push_back(submit(*ledger, [i](Transaction& t) { create(t, fmt::format("t{}", i)); }));
  }
  held.release();
  for (auto& answer : answers) EXPECT_FALSE(answer.get());
  EXPECT_EQ(commits, std::vector<std::size_t>{100});
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<std::int64_t>(i) + 1);
  testing::expect_consistent(*store_.open_bare());
}

TEST_P(CommitTest, units_of_one_group_see_each_others_writes) {
  TestLedger ledger(store_);
  const auto started = ledger.start(testing::make_execution(testing::make_fan(30)));
  const auto claims = testing::claims_of(ledger.finish(testing::claims_of(started.step).at(0)));
  Held held(*ledger);
  std::atomic<int> begun = 0;
  std::vector<std::future<std::optional<base::Error>>> answers;
  for (const Claim& claim : claims) {
    answers.push_back(submit(*ledger, [&, claim](Transaction& t) {
      StepResult result;
      ledger->executions().conclude(t, claim, engine::NodeFinished{claim.node, {}}, ledger.worker(), result);
      begun += static_cast<int>(testing::claims_of(result).size());
    }));
  }
  held.release();
  for (auto& answer : answers) EXPECT_FALSE(answer.get());
  EXPECT_EQ(begun, 1);
  testing::expect_consistent(*store_.open_bare());
}

// The same for units that workers submit, which read ahead: one commit.
TEST_P(CommitTest, steps_of_one_group_share_a_commit) {
  std::size_t commits = 0;
  TestLedger ledger(store_, {.hooks = {.publish = [&](std::span<const StoredEvent>) { ++commits; }}});
  const auto fan = ledger.start(testing::make_execution(testing::make_fan(30)));
  auto claims = testing::claims_of(ledger.finish(testing::claims_of(fan.step).at(0)));
  for (int i = 0; i < 5; ++i) {
    const auto chain = testing::claims_of(ledger.start(testing::make_execution(testing::make_chain(3))).step);
    claims.insert(claims.end(), chain.begin(), chain.end());
  }
  // Loaded before, so that their neighbours are known.
  Held held(*ledger);
  commits = 0;
  std::vector<std::future<std::size_t>> begun;
  for (const Claim& claim : claims) {
    auto told = std::make_shared<std::promise<std::size_t>>();
    begun.push_back(told->get_future());
    ASSERT_TRUE(
        ledger->submit(make_conclude(ledger->executions(), ledger.worker(), claim, engine::NodeFinished{claim.node, {}},
                                     [told](const std::optional<base::Error>& error, StepResult& result) {
                                       EXPECT_FALSE(error || result.is_stale);
                                       told->set_value(testing::claims_of(result).size());
                                     })));
  }
  held.release();
  std::size_t all = 0;
  for (auto& answer : begun) all += answer.get();
  EXPECT_EQ(all, 6) << "the end of the fan, and the next of each chain";
  EXPECT_EQ(commits, 1) << "nothing had to be undone";
  testing::expect_consistent(*store_.open_bare());
}

// A unit blocked by another daemon is retried, and its partial changes are rolled back.
TEST_P(CommitTest, a_busy_unit_leaves_nothing_behind) {
  TestLedger ledger(store_);
  Held held(*ledger);
  int runs = 0;
  auto busy = submit(*ledger, [&](Transaction& t) {
    create(t, "busy");
    if (++runs <= 3) throw AggregateBusy{};
  });
  auto other = submit(*ledger, [](Transaction& t) { create(t, "other"); });
  held.release();
  EXPECT_FALSE(busy.get());
  EXPECT_FALSE(other.get());
  EXPECT_GT(runs, 3);
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT tool_name FROM tool_runs ORDER BY tool_name"), "busy\nother\n");
  testing::expect_consistent(*session);
}

// A unit that waits too long fails with an error.
TEST_P(CommitTest, unit_that_stays_busy_gets_an_error) {
  TestLedger ledger(store_, {.hooks = {.outage_timeout = base::Milliseconds(20)}});
  const auto error = submit(*ledger, [](Transaction&) { throw AggregateBusy{}; }).get();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "store.busy");
}

// STO-3: after the reply the change is visible from any connection.
TEST_P(CommitTest, an_answer_comes_after_the_commit) {
  TestLedger ledger(store_);
  const auto other = store_.open_reader();
  for (int i = 1; i <= 20; ++i) {
    ledger->call([](Transaction& t) { create(t, "t"); });
    EXPECT_EQ(read_column(*other, "SELECT count(*) FROM tool_runs"), fmt::format("{}\n", i));
  }
}

TEST_P(CommitTest, the_queue_is_bounded) {
  TestLedger ledger(store_, {.max_waiting = 3});
  Held held(*ledger);
  std::vector<std::future<std::optional<base::Error>>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(submit(*ledger, [](Transaction& t) { create(t, "t"); }));
  EXPECT_FALSE(ledger->submit(std::make_unique<Probe>([](Transaction&) {}, Probe::Told())));
  held.release();
  for (auto& answer : answers) EXPECT_FALSE(answer.get());
}

// Units submitted before the shutdown are completed.
TEST_P(CommitTest, queued_units_finish_before_shutdown) {
  const auto session = store_.open_writer();
  std::vector<std::future<std::optional<base::Error>>> answers;
  {
    TestLedger ledger(store_);
    for (int i = 0; i < 50; ++i) answers.push_back(submit(*ledger, [](Transaction& t) { create(t, "t"); }));
  }
  for (auto& answer : answers) EXPECT_FALSE(answer.get());
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM tool_runs"), "50\n");
}

// APR-14: the first entry that was changed, removed or inserted is named.
TEST_P(CommitTest, audit_check_names_the_first_altered_entry) {
  TestLedger ledger(store_);
  for (int i = 0; i < 5; ++i) {
    ledger->call([i](Transaction& t) {
      base::Value data = base::Value::object();
      data.set("i", base::Value::integer(i));
      t.record(model::AuditKind::policy_denied, "ana", data);
    });
  }
  const auto session = store_.open_bare();
  EXPECT_TRUE(verify_audit(*session).is_whole());
  EXPECT_EQ(verify_audit(*session).entries, 5);
  // As a user who may change the tables would.
  for (const char* trigger : {"audit_log_update", "audit_log_delete"}) {
    session->run_script(fmt::format("DROP TRIGGER {}{}", trigger, store_.is_postgresql() ? " ON audit_log" : ""));
  }
  const auto broken_by = [&](const std::string& act, const std::string& undo) {
    session->run_script(act);
    const AuditVerdict verdict = verify_audit(*session);
    session->run_script(undo);
    EXPECT_TRUE(verify_audit(*session).is_whole()) << undo;
    return verdict.broken_at;
  };
  EXPECT_EQ(broken_by("UPDATE audit_log SET actor = 'bob' WHERE seq = 3", "UPDATE audit_log SET actor = 'ana'"), 3);
  EXPECT_EQ(broken_by("UPDATE audit_log SET data = '{\"i\":7}' WHERE seq = 2",
                      "UPDATE audit_log SET data = '{\"i\":1}' WHERE seq = 2"),
            2);
  EXPECT_EQ(broken_by("CREATE TABLE kept AS SELECT * FROM audit_log WHERE seq = 4; DELETE FROM audit_log WHERE seq = 4",
                      "INSERT INTO audit_log SELECT * FROM kept; DROP TABLE kept"),
            4);
  EXPECT_EQ(broken_by("CREATE TABLE kept AS SELECT * FROM audit_log WHERE seq = 5; DELETE FROM audit_log WHERE seq = 5",
                      "INSERT INTO audit_log SELECT * FROM kept; DROP TABLE kept"),
            5)
      << "the last one too";
}

}  // namespace
}  // namespace reeve::ledger
