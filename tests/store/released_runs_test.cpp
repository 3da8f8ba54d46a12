#include "runtime/runs/resumption.h"
#include "runtime/runs/run_end.h"
#include "tests/store/calls_fixture.h"

// Runs that end while their tool calls wait, and what their next attempt gets (APR-8).
namespace reeve::runtime {
namespace {

using engine::Answer;
using model::ApprovalStatus;
using model::CallOutcome;
using model::RunStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReleasedRuns : public testing::CallsFixture {
 protected:
  using Transaction = ledger::Transaction;

  StoredEnd end(base::RunId run, int code, bool may_ask = true) {
    AttemptEnd ended{.run = run, .claim = {.attempt = 1, .epoch = 4}, .record = {.code = code}, .may_ask = may_ask};
    return call([&](Transaction& transaction) {
      return store_attempt_end(transaction, ended, {.tool = "coder"}, "coder", "/");
    });
  }
  std::optional<Resumption> find(base::RunId run, int attempt, const std::vector<std::string>& words = {}) {
    return call([&](Transaction& transaction) { return find_resumption(transaction, run, attempt, words); });
  }
};
INSTANTIATE_TEST_SUITE_P(Store, ReleasedRuns,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(ReleasedRuns, run_that_exits_with_90_waits_for_its_calls) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  const StoredEnd stored = end(run, 90);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  EXPECT_FALSE(stored.asked) << "no generic question";
  EXPECT_FALSE(stored.is_released) << "the call waits";
  EXPECT_EQ(call_of(asked.row.call.call_id).outcome, CallOutcome::deferred);
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "1\n");
  const auto consequence = decide(asked.asked->approval_id, Answer::Word::reject);
  ASSERT_TRUE(consequence);
  EXPECT_EQ(consequence->kind, ledger::RunConsequence::Kind::resume_released) << "also on a rejection";
}

TEST_P(ReleasedRuns, run_whose_calls_were_answered_before_its_exit_resumes_at_once) {
  const base::RunId run = begin_run();
  const auto first = ask(run, "c1");
  const auto second = ask(run, "c2", "mcp:t/other");
  decide(first.asked->approval_id, Answer::Word::approve);
  decide(second.asked->approval_id, Answer::Word::reject);
  const StoredEnd stored = end(run, 90);
  EXPECT_TRUE(stored.is_released);
  EXPECT_FALSE(stored.asked);
  EXPECT_FALSE(stored.granted);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
}

// RUN-6: without calls, exit 90 asks as it always did.
TEST_P(ReleasedRuns, exit_90_without_open_calls_asks) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  decide(asked.asked->approval_id, Answer::Word::approve);
  take(asked.row.call.call_id);
  const StoredEnd stored = end(run, 90);
  EXPECT_TRUE(stored.asked);
  EXPECT_FALSE(stored.is_released);
}

TEST_P(ReleasedRuns, any_other_exit_withdraws_the_calls) {
  for (const int code : {0, 1}) {
    const base::RunId run = begin_run();
    const auto asked = ask(run);
    end(run, code);
    EXPECT_EQ(status_of(run), code == 0 ? RunStatus::completed : RunStatus::failed);
    EXPECT_EQ(call_of(asked.row.call.call_id).outcome, CallOutcome::withdrawn);
    EXPECT_EQ(approval_of(asked.asked->approval_id).status, ApprovalStatus::expired);
  }
  // GRF-6
  const base::RunId gate = begin_run();
  ask(gate);
  end(gate, 90, false);
  EXPECT_EQ(status_of(gate), RunStatus::failed);
}

// APR-9: the answer to its question starts it; the calls stay for that attempt.
TEST_P(ReleasedRuns, open_question_goes_first) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  const auto question = ask_plainly(run);
  decide(asked.asked->approval_id, Answer::Word::approve);
  const StoredEnd stored = end(run, 90);
  EXPECT_FALSE(stored.is_released);
  EXPECT_EQ(call_of(asked.row.call.call_id).outcome, CallOutcome::deferred);
  const auto consequence = decide(question.approval->approval_id, Answer::Word::approve);
  ASSERT_TRUE(consequence);
  EXPECT_EQ(consequence->kind, ledger::RunConsequence::Kind::start_next);
}

// RUN-8, APR-5: the decisions are in its environment; nothing says that everything is approved.
TEST_P(ReleasedRuns, next_attempt_gets_the_decisions) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  end(run, 90);
  EXPECT_FALSE(resume(run).attempt) << "the call waits";
  decide(asked.asked->approval_id, Answer::Word::approve);
  ASSERT_EQ(resume(run).attempt, 2);
  EXPECT_FALSE(resume(run).attempt) << "started twice";
  const auto resumption = find(run, 2, {"--resume", "--decision={value}"});
  ASSERT_TRUE(resumption);
  ASSERT_EQ(resumption->environment.size(), 1U);
  EXPECT_THAT(resumption->environment[0], HasSubstr("REEVE_DECISIONS={\"c1\":"));
  EXPECT_THAT(resumption->environment[0], HasSubstr("\"comment\":\"why\""));
  EXPECT_THAT(resumption->words, ElementsAre("--resume", "--decision=approve"));
  // RUN-13: the next daemon, which starts the same attempt, finds the same.
  EXPECT_EQ(find(run, 2)->environment, resumption->environment);
}

TEST_P(ReleasedRuns, attempt_after_a_lost_one_gets_nothing) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  call([&](Transaction& transaction) {
    return ledger::rerun_attempt(transaction, run, {.attempt = 1, .epoch = 4}, {.epoch = 4});
  });
  EXPECT_EQ(call_of(asked.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_FALSE(find(run, 2, {"--resume"}));
}

// RUN-13
TEST_P(ReleasedRuns, interrupted_attempt_withdraws_its_calls) {
  const base::RunId run = begin_run();
  const auto asked = ask(run);
  const StoredEnd stored = call([&](Transaction& transaction) {
    return store_interruption(transaction, run, {.attempt = 1, .epoch = 4}, {.tool = "coder"},
                              Interruption(model::OnInterrupted::ask));
  });
  EXPECT_TRUE(stored.asked) << "whether to run it again";
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  EXPECT_EQ(call_of(asked.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_THAT(call([](Transaction& transaction) { return ledger::find_released(transaction.session(), "here", 9); }),
              IsEmpty());
}

}  // namespace
}  // namespace reeve::runtime
