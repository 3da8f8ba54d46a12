#include <csignal>
#include <future>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/random.h"
#include "ledger/leases.h"
#include "ledger/runs.h"
#include "os/fd.h"
#include "tests/store/conformance.h"
#include "tests/support/store/faulty_disk.h"
#include "tests/support/store/flows.h"

// Faults of the environment of a store.
namespace reeve::ledger {
namespace {

using store::Place;
using testing::code_of;
using testing::read_column;
using testing::TestLedger;

REEVE_CONFORMANCE(FaultTest);

void create(Transaction& transaction) { create_run(transaction, {.tool_name = "t"}); }

// Another program locks the database for 3 s: requests wait, and none fails.
TEST_P(FaultTest, commits_wait_for_a_foreign_lock) {
  TestLedger ledger(store_);
  const auto other = store_.open_bare();
  other->begin();
  if (store_.is_postgresql()) {
    other->run_script("LOCK TABLE tool_runs IN ACCESS EXCLUSIVE MODE");
  } else {
    other->run_script("UPDATE counters SET value = value WHERE name = 'events'");
  }
  auto waiting = std::async(std::launch::async, [&] { ledger->call(create); });
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(3)), std::future_status::timeout) << "it waits for the lock";
  other->rollback();
  EXPECT_EQ(code_of([&] { waiting.get(); }), "");
  EXPECT_EQ(read_column(*other, "SELECT count(*) FROM tool_runs"), "1\n");
}

// A full disk: requests fail with an error, nothing is lost, and it recovers when there is space.
class DiskTest : public FaultTest {};
INSTANTIATE_TEST_SUITE_P(Store, DiskTest, ::testing::Values(Place::Kind::file, Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(DiskTest, full_disk_is_reported_and_recovered_from) {
  const auto set_full = [&](bool is_full) {
    if (!store_.is_postgresql()) return testing::FaultyDisk::fill(is_full);
    // The server reports it itself.
    const auto session = store_.open_bare();
    session->run_script(is_full ? "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
                                  "EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$; "
                                  "CREATE TRIGGER full_disk BEFORE INSERT ON tool_runs FOR EACH ROW EXECUTE FUNCTION "
                                  "full_disk()"
                                : "DROP TRIGGER full_disk ON tool_runs");
  };
  auto session = store_.open_writer({.vfs = store_.is_postgresql() ? "" : testing::FaultyDisk::name()});
  Ledger ledger(std::move(session), {});
  ledger.call(create);
  set_full(true);
  EXPECT_EQ(code_of([&] { ledger.call(create); }), "store.full");
  EXPECT_EQ(code_of([&] { ledger.call(create); }), "store.full");
  set_full(false);
  EXPECT_EQ(code_of([&] { ledger.call(create); }), "");
  const auto other = store_.open_bare();
  EXPECT_EQ(read_column(*other, "SELECT count(*) FROM tool_runs"), "2\n");
  testing::expect_consistent(*other);
}

// After a failed fsync the state on disk is unknown. Only a new start reads it correctly.
TEST(FsyncTest, an_error_ends_the_process) {
  const testing::TestStore store(Place::Kind::file);
  const auto write = [&] {
    Ledger ledger(store.open_writer({.vfs = testing::FaultyDisk::name()}), {});
    ledger.call(create);
    testing::FaultyDisk::set_sync(testing::FaultyDisk::Sync::breaks);
    ledger.call(create);
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(74), "the next start reads what is stored");
  Ledger ledger(store.open_writer(), {});
  EXPECT_EQ(code_of([&] { ledger.call(create); }), "");
}

// The same where it is easily missed: the database file is synced only at checkpoints.
TEST(FsyncTest, an_error_at_a_checkpoint_ends_the_process) {
  const testing::TestStore store(Place::Kind::file);
  const auto write = [&] {
    Ledger ledger(store.open_writer({.vfs = testing::FaultyDisk::name()}), {});
    testing::FaultyDisk::set_sync(testing::FaultyDisk::Sync::breaks_at_checkpoints);
    // Far more than the WAL holds before a checkpoint.
    for (int i = 0; i < 2'000; ++i) ledger.call(create);
  };
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(74), "the next start reads what is stored");
}

// --- kill -9 ---

// Writes units until it is killed; after each commit it reports the number of its run.
[[noreturn]] void write_until_killed(const Place& place, int told) {
  const base::SystemClock clock;
  Ledger ledger(store::open_writer(place, clock), {});
  std::atomic<int> waiting = 0;
  class WriteUnit final : public Unit {
   public:
    WriteUnit(int told, std::atomic<int>& waiting) : told_(told), waiting_(waiting) {}
    void run(Transaction& transaction) override {
      run_ = create_run(transaction, {.tool_name = "t"});
      begin_attempt(transaction, run_, {.nonce = "n"});
    }
    void finish(const std::optional<base::Error>& error) override {
      const std::int64_t number = error ? -1 : run_.number();
      if (::write(told_, &number, sizeof number) != sizeof number) ::_exit(1);
      --waiting_;
      waiting_.notify_one();
    }

   private:
    int told_;
    std::atomic<int>& waiting_;
    base::RunId run_{0};
  };
  while (true) {
    constexpr int at_once = 8;
    for (int now = waiting; now < at_once; now = waiting) {
      ++waiting;
      if (!ledger.submit(std::make_unique<WriteUnit>(told, waiting))) ::_exit(1);
    }
    waiting.wait(at_once);
  }
}

// Acknowledged units are complete, others are complete or absent, and numbers have no gaps. STO-3, SPEC §9.
void expect_whole(store::Session& session, const std::set<std::int64_t>& acknowledged) {
  std::set<std::int64_t> found;
  session.query_text("SELECT number FROM tool_runs WHERE status = 'running'",
                     [&](const store::Row& row) { found.insert(row.integer(0)); });
  for (const std::int64_t number : acknowledged) ASSERT_TRUE(found.contains(number)) << "lost: TR-" << number;
  EXPECT_EQ(read_column(session, "SELECT count(*) FROM tool_runs"), fmt::format("{}\n", found.size()));
  EXPECT_EQ(read_column(session, "SELECT count(*) FROM run_attempts"), fmt::format("{}\n", found.size()));
  EXPECT_EQ(read_column(session, "SELECT count(*) FROM events"), fmt::format("{}\n", 2 * found.size()));
  testing::expect_consistent(session);
}

void kill_often(const testing::TestStore& store, int times) {
  base::SeededRandom random(7);
  std::set<std::int64_t> acknowledged;
  store.open_writer();
  for (int round = 0; round < times && !::testing::Test::HasFailure(); ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      write_until_killed(store.place(), ends[1]);
    }
    ::close(ends[1]);
    const os::Fd told(ends[0]);
    // Killed while it keeps writing, after that many acknowledgements.
    std::uint64_t left = random.below(40);
    std::int64_t number = 0;
    bool is_killed = false;
    while (true) {
      if (left == 0 && !is_killed) {
        is_killed = true;
        ::kill(child, SIGKILL);
      }
      const ssize_t got = ::read(told.get(), &number, sizeof number);
      if (got != sizeof number) break;
      ASSERT_GT(number, 0) << "a unit failed";
      EXPECT_TRUE(acknowledged.insert(number).second) << "acknowledged twice";
      if (left > 0) --left;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    if (round % 10 == 9 || round + 1 == times) expect_whole(*store.open_bare(), acknowledged);
  }
  EXPECT_GT(acknowledged.size(), static_cast<std::size_t>(times) * 5);
}

TEST(KillTest, a_killed_writer_loses_nothing_on_sqlite) { kill_often(testing::TestStore(Place::Kind::file), 300); }
TEST(KillTest, a_killed_writer_loses_nothing_on_postgresql) {
  kill_often(testing::TestStore(Place::Kind::postgresql), 300);
}

// --- server restarts ---

// DESIGN: a commit with a lost reply is looked up; acknowledged units exist once.
TEST(ServerTest, a_restart_of_the_database_loses_and_repeats_nothing) {
  testing::PostgresqlServer server("restart");
  const base::SystemClock clock;
  const Place place{Place::Kind::postgresql, server.create_database()};
  std::atomic<bool> is_over = false;
  std::set<std::int64_t> acknowledged;
  {
    Ledger ledger(store::open_writer(place, clock), {});
    std::atomic<int> written = 0;
    std::jthread writer([&] {
      while (!is_over) {
        const auto id = ledger.call([](Transaction& transaction) {
          const base::RunId run = create_run(transaction, {.tool_name = "t"});
          begin_attempt(transaction, run, {.nonce = "n"});
          return run;
        });
        EXPECT_TRUE(acknowledged.insert(id.number()).second);
        ++written;
        written.notify_all();
      }
    });
    for (int round = 0; round < 3; ++round) {
      // It writes before and after the restart.
      for (int seen = written, until = seen + 50; seen < until; seen = written) written.wait(seen);
      server.restart();
    }
    for (int seen = written, until = seen + 50; seen < until; seen = written) written.wait(seen);
    is_over = true;
  }
  expect_whole(*store::open_reader(place, clock), acknowledged);
}

// --- plain SQL updates ---

constexpr const char* asking = R"(
id: ask
name: ask
entry_point: review
nodes:
  - {id: review, type: human, human_config: {title: "Ship it?"}}
  - {id: ship, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: review, target: ship}
)";

// Far longer than needed, far shorter than the poll interval.
constexpr std::chrono::seconds timeout(20);

class OutsideTest : public FaultTest {
 protected:
  // Only the notification of foreign writes is that fast, except in memory, where there is no file to watch.
  Ledger::Options options() {
    const bool is_memory = GetParam() == Place::Kind::memory;
    return {.outside = [this](const OutsideResult& result) { told_.set_value(result); },
            .poll = is_memory ? base::Milliseconds(5) : base::Milliseconds(3'600'000)};
  }
  std::promise<OutsideResult> told_;
};
INSTANTIATE_TEST_SUITE_P(Store, OutsideTest,
                         ::testing::Values(Place::Kind::file, Place::Kind::memory, Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// APR-6: the next step starts within milliseconds of a plain update, which is recorded as `outside`.
TEST_P(OutsideTest, a_plain_update_decides) {
  TestLedger ledger(store_, options());
  for (int round = 1; round <= 5; ++round) {
    std::promise<OutsideResult>().swap(told_);
    auto answer = told_.get_future();
    ledger.start(testing::make_execution(asking));
    const auto start = std::chrono::steady_clock::now();
    store_.open_bare()->run_script(
        fmt::format("UPDATE approvals SET status = 'approved', chosen_value = 'approve', decided_at = "
                    "'2026-01-01T00:00:00.000Z' WHERE approval_id = 'AP-{}' AND status = 'pending'",
                    round));
    ASSERT_EQ(answer.wait_for(timeout), std::future_status::ready);
    const auto took = std::chrono::steady_clock::now() - start;
    RecordProperty(fmt::format("noticed_us_{}", round),
                   static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    const OutsideResult result = answer.get();
    EXPECT_EQ(result.kind, OutsideResult::Kind::settled);
    EXPECT_EQ(testing::claims_of(result.step).size(), 1);
    EXPECT_EQ(result.approval->decided_by, "outside");
  }
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT DISTINCT kind || ' ' || actor FROM audit_log WHERE actor = 'outside'"),
            "approval_granted outside\n");
  testing::expect_consistent(*session);
}

// APR-6: an update that leaves an invalid row is void, and the question is open again.
TEST_P(OutsideTest, an_invalid_update_is_void) {
  TestLedger ledger(store_, options());
  ledger.start(testing::make_execution(asking));
  for (const char* set :
       {"status = 'approved', chosen_value = 'perhaps'", "status = 'approved', chosen_value = 'reject'",
        "status = 'rejected', chosen_value = 'approve'"}) {
    std::promise<OutsideResult>().swap(told_);
    auto answer = told_.get_future();
    store_.open_bare()->run_script(fmt::format("UPDATE approvals SET {}, decided_at = 'now' WHERE number = 1", set));
    ASSERT_EQ(answer.wait_for(timeout), std::future_status::ready) << set;
    EXPECT_EQ(answer.get().kind, OutsideResult::Kind::voided) << set;
  }
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT status FROM approvals"), "pending\n");
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM audit_log WHERE kind = 'outside_update_voided'"), "3\n");
  EXPECT_EQ(code_of([&] { session->run_script("UPDATE approvals SET status = 'maybe'"); }), "store.refused");
  // A person can still decide.
  EXPECT_FALSE(ledger.decide(base::ApprovalId(1), {engine::Answer::Word::approve, {}, {}, "ana"}).refusal);
  EXPECT_EQ(code_of([&] { session->run_script("UPDATE approvals SET status = 'rejected'"); }), "store.refused")
      << "APR-2: never changed, by nobody";
  testing::expect_consistent(*session);
}

// APR-4: a plain approval after the expiry does not count, and no other answer is accepted.
TEST_P(OutsideTest, a_late_update_expires) {
  TestLedger ledger(store_, options());
  std::string yaml = asking;
  yaml.replace(yaml.find("\"Ship it?\""), 10, "\"Ship it?\", expires: 1ms");
  ledger.start(testing::make_execution(yaml));
  std::promise<OutsideResult>().swap(told_);
  auto answer = told_.get_future();
  store_.open_bare()->run_script(
      "UPDATE approvals SET status = 'approved', chosen_value = 'approve', decided_at = '2099-01-01T00:00:00.000Z'");
  ASSERT_EQ(answer.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(answer.get().kind, OutsideResult::Kind::voided);
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT status FROM approvals"), "expired\n");
  EXPECT_EQ(read_column(*session, "SELECT status FROM executions"), "failed\n");
  testing::expect_consistent(*session);
}

// A decision made without a daemon is found at the start.
TEST_P(OutsideTest, update_without_a_daemon_is_found_at_the_start) {
  const auto session = store_.open_writer();
  {
    TestLedger(store_).start(testing::make_execution(asking));
  }
  session->run_script("UPDATE approvals SET status = 'rejected', decided_at = '2026-01-01T00:00:00.000Z'");
  std::promise<OutsideResult>().swap(told_);
  auto answer = told_.get_future();
  TestLedger ledger(store_, options());
  ASSERT_EQ(answer.wait_for(timeout), std::future_status::ready);
  EXPECT_EQ(answer.get().kind, OutsideResult::Kind::settled);
  EXPECT_EQ(read_column(*session, "SELECT status FROM executions"), "failed\n");
}

}  // namespace
}  // namespace reeve::ledger
