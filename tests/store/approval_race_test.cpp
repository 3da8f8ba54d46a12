#include <barrier>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/expiry.h"
#include "ledger/run_questions.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Questions of runs in the ledger: which decision wins, expiry, and what each answer means for the run (SPEC §2).
namespace reeve::ledger {
namespace {

using model::ApprovalStatus;
using model::ApprovalUse;
using model::Delivery;
using model::RunStatus;
using testing::read_column;
using testing::TestLedger;
using Kind = RunConsequence::Kind;

constexpr base::Milliseconds ms{1};

engine::Answer yes() { return {engine::Answer::Word::approve, {}, {}, "ana"}; }

base::RunId begin_run(Transaction& transaction) {
  const base::RunId id = create_run(transaction, {.tool_name = "aider"});
  begin_attempt(transaction, id, {});
  return id;
}

// The tool has exited with 90.
model::Run leave(Transaction& transaction, base::RunId id) {
  return move_run(transaction, id,
                  {.to = RunStatus::waiting_approval,
                   .outcome = model::Outcome::asked,
                   .exit_code = 90,
                   .ends_attempt = true})
      .value();
}

model::Approval make_question(std::optional<base::WallTime> expires_at = {}) {
  model::Approval approval;
  approval.question = "Go on?";
  approval.options = model::default_options();
  approval.digest = "sha256:a";
  approval.expires_at = expires_at;
  return approval;
}

struct Waiting {
  base::RunId run{0};
  base::ApprovalId approval{0};
};
// Asks, for a run whose tool has exited.
Waiting ask_and_leave(Transaction& transaction, std::optional<base::WallTime> expires_at = {}) {
  const base::RunId run = begin_run(transaction);
  return {run, ask_after_end(transaction, leave(transaction, run), make_question(expires_at))};
}

class ApprovalRaceTest : public testing::Conformance {
 protected:
  ApprovalRaceTest() : ledger_(store_) {}

  Waiting ask_and_leave(std::optional<base::Milliseconds> time = {}) {
    return ledger_->call([&](Transaction& transaction) {
      return ledger::ask_and_leave(transaction, time ? std::optional(transaction.now() + *time) : std::nullopt);
    });
  }
  AttemptResult begin(base::RunId run, base::ApprovalId grant, const std::string& digest = "sha256:a") {
    return ledger_->call(
        [&](Transaction& transaction) { return begin_attempt(transaction, run, {.grant = grant, .digest = digest}); });
  }
  struct TimePassed {
    std::vector<model::Approval> expired;
    StepResult step;
    std::optional<base::WallTime> next;
  };
  // As the daemon does it: each in a separate unit.
  TimePassed pass_time(std::int64_t most) {
    const TimeDue due = ledger_->call([&](Transaction& transaction) { return find_due(transaction, most); });
    TimePassed passed{.next = due.next};
    for (const base::ApprovalId id : due.overdue) {
      auto expired = ledger_->call([&](Transaction& transaction) {
        return expire_approval(transaction, ledger_->executions(), ledger_.worker(), id, passed.step);
      });
      if (expired) passed.expired.push_back(std::move(*expired));
    }
    for (const base::ApprovalId id : due.half) {
      ledger_->call([&](Transaction& transaction) { remind(transaction, id); });
    }
    return passed;
  }
  bool note_clock(const std::string& boot_id, base::Milliseconds offset) {
    return ledger_->call(
        [&](Transaction& transaction) { return ledger::note_clock(transaction, "host", boot_id, offset); });
  }
  model::Run run_of(base::RunId id) { return store::find_run(*session_, id).value().run; }
  model::Approval approval_of(base::ApprovalId id) { return store::find_approval(*session_, id).value().approval; }
  std::string column(const std::string& sql) { return read_column(*session_, sql); }

  TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
};
INSTANTIATE_TEST_SUITE_P(Store, ApprovalRaceTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// APR-2, APR-4: an approval arrives in the millisecond of its expiry.
TEST_P(ApprovalRaceTest, approval_and_expiry_at_once_have_one_winner) {
  constexpr int rounds = 300;
  // On PostgreSQL each has its own connection, as two daemons do.
  std::optional<TestLedger> own;
  if (store_.is_postgresql()) own.emplace(store_);
  TestLedger& other = own ? *own : ledger_;
  int approved = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const auto asked = ask_and_leave(3 * ms);
    const base::WallTime end = approval_of(asked.approval).expires_at.value();
    DecisionResult decided;
    std::optional<model::Approval> expired;
    std::barrier ready(2);
    {
      std::jthread person([&] {
        ready.arrive_and_wait();
        while (base::SystemClock().wall_now() < end - (round % 3) * ms) std::this_thread::yield();
        decided = ledger_.decide(asked.approval, yes());
      });
      ready.arrive_and_wait();
      const auto is_open = [&] {
        return other->call([&](Transaction& transaction) {
          const auto row = store::find_approval(transaction.session(), asked.approval);
          return row && row->approval.status == ApprovalStatus::pending;
        });
      };
      while (!expired && is_open()) {
        expired = other->call([&](Transaction& transaction) {
          StepResult step;
          return expire_approval(transaction, other->executions(), other.worker(), asked.approval, step);
        });
      }
    }
    ASSERT_TRUE(decided.approval);
    EXPECT_NE(expired.has_value(), !decided.refusal) << "round " << round << ": both, or none";
    const model::Approval stored = approval_of(asked.approval);
    if (decided.refusal) {
      EXPECT_EQ(stored.status, ApprovalStatus::expired);
      EXPECT_EQ(run_of(asked.run).reason, "approval expired");
      EXPECT_TRUE(decided.step.runs.empty());
    } else {
      ++approved;
      EXPECT_EQ(stored.status, ApprovalStatus::approved);
      EXPECT_EQ(decided.step.runs.size(), 1U);
      EXPECT_EQ(run_of(asked.run).status, RunStatus::waiting_approval);
    }
  }
  EXPECT_EQ(column("SELECT count(*) FROM audit_log WHERE kind = 'approval_granted'"), fmt::format("{}\n", approved));
  EXPECT_EQ(column("SELECT count(*) FROM audit_log WHERE kind = 'approval_expired'"),
            fmt::format("{}\n", rounds - approved));
  testing::expect_consistent(*session_);
}

// APR-4: the last millisecond counts, the next does not.
TEST_P(ApprovalRaceTest, decision_at_the_moment_of_expiry_is_refused) {
  const auto decide = [&](base::Milliseconds left) {
    return ledger_->call([&](Transaction& transaction) {
      const Waiting asked = ledger::ask_and_leave(transaction, transaction.now() + left);
      return decide_approval(transaction, ledger_->executions(), ledger_.worker(), asked.approval, yes());
    });
  };
  EXPECT_EQ(decide(0 * ms).refusal, engine::Refusal::expired);
  EXPECT_EQ(decide(-1 * ms).refusal, engine::Refusal::expired);
  const DecisionResult in_time = decide(1 * ms);
  EXPECT_FALSE(in_time.refusal);
  EXPECT_EQ(in_time.approval.value().status, ApprovalStatus::approved);
  EXPECT_EQ(column("SELECT status FROM approvals ORDER BY number"), "pending\npending\napproved\n");
}

// APR-7
TEST_P(ApprovalRaceTest, grant_works_once_for_its_run_and_attempt) {
  const Waiting first = ask_and_leave();
  const Waiting second = ask_and_leave();
  ledger_.decide(first.approval, yes());
  EXPECT_EQ(begin(second.run, first.approval).refusal, engine::GrantRefusal::not_granted);
  EXPECT_EQ(begin(first.run, first.approval).attempt, 2);
  // It asks again in its second attempt: the first answer does not count for that.
  const base::ApprovalId again = ledger_->call([&](Transaction& transaction) {
    return ask_after_end(transaction, leave(transaction, first.run), make_question());
  });
  EXPECT_EQ(begin(first.run, first.approval).refusal, engine::GrantRefusal::already_used);
  ledger_.decide(again, yes());
  EXPECT_EQ(begin(first.run, again).attempt, 3);
  // A grant of an earlier attempt.
  ledger_.decide(second.approval, yes());
  ledger_->call([&](Transaction& transaction) {
    begin_attempt(transaction, second.run, {});
    leave(transaction, second.run);
  });
  EXPECT_TRUE(begin(second.run, second.approval).void_reason);
  EXPECT_EQ(approval_of(second.approval).use, ApprovalUse::void_);
  EXPECT_EQ(column("SELECT count(*) FROM run_attempts"), "5\n");
}

// DESIGN "Time": setting the clock moves deadlines with it; drift or another boot does not.
TEST_P(ApprovalRaceTest, a_jump_of_the_clock_moves_expiry_and_reminder) {
  using std::chrono::hours;
  using std::chrono::seconds;
  const Waiting asked = ask_and_leave(hours(4));
  const auto without_end = ask_and_leave();
  const base::WallTime end = approval_of(asked.approval).expires_at.value();
  const std::string reminder_sql =
      fmt::format("SELECT remind_at FROM approvals WHERE number = {}", asked.approval.number());
  const auto reminder = base::parse_time(column(reminder_sql).substr(0, 24)).value();
  struct Step {
    const char* boot;
    base::Milliseconds offset;
    base::Milliseconds moved;
  };
  const Step steps[] = {
      {"a", hours(100), 0 * ms},
      {"a", hours(100) + seconds(30), 0 * ms},
      {"a", hours(102) + seconds(30), hours(2)},
      {"a", hours(102) + seconds(90), hours(2)},
      {"b", hours(50), hours(2)},
      {"b", hours(48), 0 * ms},
      {"a", hours(102) + seconds(90), 0 * ms},
      {"b", hours(46), -hours(2)},
  };
  base::Milliseconds before{0};
  for (const Step& step : steps) {
    EXPECT_EQ(note_clock(step.boot, step.offset), step.moved != before) << step.boot << step.offset.count();
    before = step.moved;
    EXPECT_EQ(approval_of(asked.approval).expires_at, end + step.moved) << step.boot << step.offset.count();
    EXPECT_EQ(column(reminder_sql), base::format_time(reminder + step.moved) + "\n");
  }
  EXPECT_FALSE(approval_of(without_end.approval).expires_at);
  // A decided approval has no deadline.
  ledger_.decide(asked.approval, yes());
  note_clock("b", hours(10));
  EXPECT_EQ(approval_of(asked.approval).expires_at, end - hours(2));
}

// APR-4: bounded, oldest first, and it returns the time of the next check.
TEST_P(ApprovalRaceTest, expiry_runs_in_bounded_batches) {
  EXPECT_FALSE(pass_time(10).next);
  std::vector<Waiting> asked;
  for (int i = 0; i < 5; ++i) asked.push_back(ask_and_leave(-ms * (10 - i)));
  const Waiting later = ask_and_leave(std::chrono::hours(1));
  const TimePassed first = pass_time(2);
  ASSERT_EQ(first.expired.size(), 2U);
  EXPECT_EQ(first.expired[0].approval_id, asked[0].approval);
  EXPECT_EQ(first.expired[1].approval_id, asked[1].approval);
  ASSERT_EQ(first.step.runs.size(), 2U);
  EXPECT_EQ(first.step.runs[0].kind, Kind::over);
  EXPECT_EQ(run_of(asked[0].run).status, RunStatus::failed);
  EXPECT_LE(first.next.value(), base::SystemClock().wall_now()) << "at once";
  EXPECT_EQ(pass_time(100).expired.size(), 3U);
  const TimePassed idle = pass_time(100);
  EXPECT_TRUE(idle.expired.empty());
  EXPECT_EQ(base::format_time(idle.next.value()) + "\n",
            column(fmt::format("SELECT remind_at FROM approvals WHERE number = {}", later.approval.number())));
}

// APR-14: an approval that is unreadable or spelled differently blocks no other.
TEST_P(ApprovalRaceTest, damaged_approval_does_not_block_the_others) {
  const Waiting spelled = ask_and_leave(std::chrono::hours(1));
  const Waiting damaged = ask_and_leave(std::chrono::hours(1));
  const Waiting overdue = ask_and_leave(-ms);
  session_->run_script(
      fmt::format("UPDATE approvals SET expires_at = '2020-01-01 00:00:00' WHERE number = {};"
                  "UPDATE approvals SET expires_at = 'soon' WHERE number = {}",
                  spelled.approval.number(), damaged.approval.number()));
  EXPECT_EQ(pass_time(100).expired.size(), 2U);
  EXPECT_EQ(approval_of(spelled.approval).status, model::ApprovalStatus::expired);
  EXPECT_EQ(approval_of(damaged.approval).status, model::ApprovalStatus::pending);
  EXPECT_FALSE(approval_of(damaged.approval).expires_at);
  EXPECT_EQ(approval_of(overdue.approval).status, model::ApprovalStatus::expired);
}

// UX: one reminder at half of its time, never another.
TEST_P(ApprovalRaceTest, reminder_at_half_time_is_sent_once) {
  std::vector<Waiting> asked;
  for (int i = 0; i < 3; ++i) asked.push_back(ask_and_leave(std::chrono::hours(1)));
  const auto told = [&] {
    return column("SELECT count(*) FROM events WHERE kind = 'approval_needed' AND data LIKE '%\"reminder\":true%'");
  };
  pass_time(100);
  EXPECT_EQ(told(), "0\n");
  session_->run_script("UPDATE approvals SET remind_at = '2020-01-01T00:00:00.000Z' WHERE number < 3");
  EXPECT_TRUE(pass_time(1).expired.empty());
  EXPECT_EQ(told(), "1\n");
  pass_time(100);
  EXPECT_EQ(told(), "2\n");
  pass_time(100);
  EXPECT_EQ(told(), "2\n");
  // Decided approvals get no reminder.
  ledger_.decide(asked[2].approval, yes());
  session_->run_script("UPDATE approvals SET remind_at = '2020-01-01T00:00:00.000Z' WHERE number = 3");
  pass_time(100);
  EXPECT_EQ(told(), "2\n");
}

// UX: a question that never expires is repeated every day, so that no wait is forgotten.
TEST_P(ApprovalRaceTest, question_without_expiry_is_repeated_every_day) {
  using std::chrono::hours;
  ask_and_leave();
  const auto reminder = [&] {
    return base::parse_time(column("SELECT remind_at FROM approvals WHERE number = 1").substr(0, 24)).value();
  };
  const auto told = [&] {
    return column("SELECT count(*) FROM events WHERE kind = 'approval_needed' AND data LIKE '%\"reminder\":true%'");
  };
  EXPECT_GT(reminder(), base::SystemClock().wall_now() + hours(23));
  pass_time(100);
  EXPECT_EQ(told(), "0\n");
  for (const char* count : {"1\n", "2\n"}) {
    session_->run_script("UPDATE approvals SET remind_at = '2020-01-01T00:00:00.000Z'");
    pass_time(100);
    EXPECT_EQ(told(), count);
    EXPECT_GT(reminder(), base::SystemClock().wall_now() + hours(23));
    // Not again before the next day.
    pass_time(100);
    EXPECT_EQ(told(), count);
  }
}

}  // namespace
}  // namespace reeve::ledger
