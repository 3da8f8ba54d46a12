#include "ledger/run_questions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/approvals.h"
#include "ledger/expiry.h"
#include "runtime/runs/run_end.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// What asking and answering mean for a run, depending on whether its process lives and how the answer reaches it
// (APR-5, APR-8).
namespace reeve::ledger {
namespace {

using model::ApprovalStatus;
using model::ApprovalUse;
using model::Delivery;
using model::RunStatus;
using testing::read_column;
using testing::TestLedger;
using Kind = RunConsequence::Kind;
using Word = engine::Answer::Word;

class RunQuestionsTest : public testing::Conformance {
 protected:
  RunQuestionsTest() : ledger_(store_) {}

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  base::RunId begin_run() {
    return call([](Transaction& transaction) {
      const base::RunId id = create_run(transaction, {.tool_name = "aider"});
      begin_attempt(transaction, id, {.epoch = 4, .deadline_ms = 1'000'000});
      return id;
    });
  }
  Asked ask(base::RunId run, Delivery delivery = Delivery::rerun, std::optional<std::int64_t> prompt = {},
            AttemptClaim claim = {.attempt = 1, .epoch = 4}) {
    model::Approval approval;
    approval.question = "Go on?";
    approval.options = model::default_options();
    approval.digest = "sha256:a";
    approval.delivery = delivery;
    return call([&](Transaction& transaction) {
      return ask_for_run(transaction, run,
                         {.claim = claim, .approval = approval, .prompt = prompt, .time_left_ms = 1'500});
    });
  }
  void leave(base::RunId run) {
    call([&](Transaction& transaction) {
      move_run(transaction, run, {.to = RunStatus::waiting_approval, .exit_code = 90, .ends_attempt = true});
    });
  }
  DecisionResult decide(base::ApprovalId id, Word word) { return ledger_.decide(id, {word, {}, "why", "ana"}); }
  std::optional<RunConsequence> expire(base::ApprovalId id) {
    session_->run_script(
        fmt::format("UPDATE approvals SET expires_at = '2020-01-01T00:00:00.000Z' WHERE number = {}", id.number()));
    StepResult step;
    call([&](Transaction& transaction) {
      step = {};
      return expire_approval(transaction, ledger_->executions(), ledger_.worker(), id, step);
    });
    return step.runs.empty() ? std::nullopt : std::optional(step.runs.front());
  }
  model::Run run_of(base::RunId id) { return store::find_run(*session_, id).value().run; }
  model::Approval approval_of(base::ApprovalId id) { return store::find_approval(*session_, id).value().approval; }
  std::string column(const std::string& sql) { return read_column(*session_, sql); }

  TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
};
INSTANTIATE_TEST_SUITE_P(Store, RunQuestionsTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// APR-1, APR-9, RUN-3: the run waits, its timeout is paused, and there is one question at a time.
TEST_P(RunQuestionsTest, question_pauses_the_run_and_its_timeout) {
  const base::RunId run = begin_run();
  const Asked first = ask(run);
  ASSERT_TRUE(first.run && first.approval);
  EXPECT_EQ(first.run->status, RunStatus::waiting_approval);
  EXPECT_EQ(run_of(run).status, RunStatus::waiting_approval);
  EXPECT_EQ(column("SELECT time_left_ms FROM run_attempts"), "1500\n");
  EXPECT_EQ(column("SELECT count(*) FROM run_attempts WHERE deadline_ms IS NULL"), "1\n");
  EXPECT_EQ(approval_of(first.approval->approval_id).tool_run_id, run);
  const Asked second = ask(run);
  EXPECT_TRUE(second.run);
  EXPECT_FALSE(second.approval);
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "1\n");
  // Another run can ask.
  EXPECT_TRUE(ask(begin_run()).approval);
}

TEST_P(RunQuestionsTest, stale_attempt_cannot_ask) {
  const base::RunId run = begin_run();
  EXPECT_FALSE(ask(run, Delivery::rerun, {}, {.attempt = 1, .epoch = 3}).run) << "another daemon has it";
  EXPECT_FALSE(ask(run, Delivery::rerun, {}, {.attempt = 2, .epoch = 4}).run);
  call([&](Transaction& transaction) { move_run(transaction, run, {.to = RunStatus::failed}); });
  EXPECT_FALSE(ask(run).run) << "it is over";
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "0\n");
}

// APR-5, APR-8: the table.
TEST_P(RunQuestionsTest, answer_follows_the_transition_table) {
  enum class Said { yes, no, silence };
  struct Case {
    Delivery delivery;
    bool has_left;
    Said said;
    Kind kind;
    RunStatus status;
    ApprovalUse use;
  };
  const Case cases[] = {
      {Delivery::rerun, true, Said::yes, Kind::start_next, RunStatus::waiting_approval, ApprovalUse::unused},
      {Delivery::rerun, true, Said::no, Kind::over, RunStatus::failed, ApprovalUse::unused},
      {Delivery::rerun, true, Said::silence, Kind::over, RunStatus::failed, ApprovalUse::unused},
      {Delivery::rerun, false, Said::yes, Kind::go_on, RunStatus::running, ApprovalUse::unused},
      {Delivery::rerun, false, Said::no, Kind::go_on, RunStatus::running, ApprovalUse::unused},
      {Delivery::rerun, false, Said::silence, Kind::end_process, RunStatus::waiting_approval, ApprovalUse::unused},
      {Delivery::live, false, Said::yes, Kind::go_on, RunStatus::running, ApprovalUse::used},
      {Delivery::live, false, Said::no, Kind::go_on, RunStatus::running, ApprovalUse::unused},
      {Delivery::live, false, Said::silence, Kind::end_process, RunStatus::waiting_approval, ApprovalUse::unused},
      {Delivery::live, true, Said::yes, Kind::start_next, RunStatus::waiting_approval, ApprovalUse::unused},
      {Delivery::terminal, false, Said::yes, Kind::type, RunStatus::running, ApprovalUse::unused},
      {Delivery::terminal, false, Said::no, Kind::type, RunStatus::running, ApprovalUse::unused},
      {Delivery::terminal, false, Said::silence, Kind::end_process, RunStatus::waiting_approval, ApprovalUse::unused},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(
        fmt::format("{} left {} said {}", base::spell(one.delivery), one.has_left, static_cast<int>(one.said)));
    const base::RunId run = begin_run();
    const base::ApprovalId id = ask(run, one.delivery, 7).approval.value().approval_id;
    if (one.has_left) leave(run);
    std::optional<RunConsequence> found;
    if (one.said == Said::silence) {
      found = expire(id);
    } else {
      const auto result = decide(id, one.said == Said::yes ? Word::approve : Word::reject);
      if (!result.step.runs.empty()) found = result.step.runs.front();
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, one.kind);
    EXPECT_EQ(found->prompt, 7);
    EXPECT_EQ(found->run.status, one.status);
    EXPECT_EQ(found->approval.status, approval_of(id).status);
    EXPECT_EQ(run_of(run).status, one.status);
    EXPECT_EQ(approval_of(id).use, one.use);
    if (one.kind == Kind::over) {
      EXPECT_EQ(run_of(run).reason, one.said == Said::no ? "rejected by ana: why" : "approval expired");
      EXPECT_EQ(run_of(run).outcome == model::Outcome::denied, one.said == Said::no);
    }
    if (one.kind == Kind::end_process) {
      // The reason for the end survives the daemon.
      EXPECT_THAT(column(fmt::format("SELECT ending FROM run_attempts WHERE run = {}", run.number())),
                  ::testing::HasSubstr("approval expired"));
    }
  }
}

// APR-13: a granted run that has not started is found, however the answer is delivered.
TEST_P(RunQuestionsTest, granted_but_unstarted_run_is_found) {
  const auto granted = [&] {
    std::vector<std::int64_t> runs;
    for (const GrantedRun& one : find_granted(*session_, "", 100)) runs.push_back(one.run.number());
    return runs;
  };
  const base::RunId left = begin_run();
  const base::ApprovalId first = ask(left).approval.value().approval_id;
  leave(left);
  // A tool that asked while running, and exited before the answer.
  const base::RunId live = begin_run();
  const base::ApprovalId second = ask(live, Delivery::live).approval.value().approval_id;
  leave(live);
  // Its process lives, so it is not started again.
  const base::RunId alive = begin_run();
  const base::ApprovalId third = ask(alive).approval.value().approval_id;
  EXPECT_THAT(granted(), ::testing::IsEmpty());
  for (const base::ApprovalId id : {first, second, third}) decide(id, Word::approve);
  EXPECT_THAT(granted(), ::testing::ElementsAre(left.number(), live.number()));
  call([&](Transaction& transaction) {
    begin_attempt(transaction, left, {.grant = first, .digest = "sha256:a"});
    move_run(transaction, live, {.to = RunStatus::cancelled});
  });
  EXPECT_THAT(granted(), ::testing::IsEmpty());
}

// APR-7: an ended run leaves no usable grant.
TEST_P(RunQuestionsTest, ended_run_voids_its_grants) {
  const base::RunId run = begin_run();
  const base::ApprovalId id = ask(run).approval.value().approval_id;
  decide(id, Word::approve);
  call([&](Transaction& transaction) { move_run(transaction, run, {.to = RunStatus::completed, .exit_code = 0}); });
  EXPECT_EQ(approval_of(id).use, ApprovalUse::void_);
  EXPECT_EQ(column("SELECT kind FROM audit_log ORDER BY seq"),
            "approval_requested\napproval_granted\napproval_voided\n");
  testing::expect_consistent(*session_);
}

// RUN-13: an interruption asks a separate question; an earlier approval does not answer it.
TEST_P(RunQuestionsTest, earlier_approval_does_not_restart_an_interrupted_run) {
  const base::RunId run = begin_run();
  const base::ApprovalId older = ask(run).approval.value().approval_id;
  decide(older, Word::approve);
  const auto stored = call([&](Transaction& transaction) {
    return runtime::store_interruption(transaction, run, {.attempt = 1, .epoch = 4}, {.tool = "aider"},
                                       model::OnInterrupted::ask);
  });
  ASSERT_TRUE(stored.asked);
  EXPECT_EQ(approval_of(older).use, ApprovalUse::void_);
  EXPECT_THAT(find_granted(*session_, "", 100), ::testing::IsEmpty());
}

// RUN-13, APR-9: an automatic rerun can ask again; the question of its lost attempt expires.
TEST_P(RunQuestionsTest, rerun_attempt_can_ask_again) {
  const base::RunId run = begin_run();
  const base::ApprovalId lost = ask(run).approval.value().approval_id;
  const auto attempt = call([&](Transaction& transaction) {
    return rerun_attempt(transaction, run, {.attempt = 1, .epoch = 4}, {.epoch = 5});
  });
  EXPECT_EQ(attempt, 2);
  EXPECT_EQ(run_of(run).status, RunStatus::running);
  EXPECT_EQ(approval_of(lost).status, ApprovalStatus::expired);
  EXPECT_TRUE(ask(run, Delivery::rerun, {}, {.attempt = 2, .epoch = 5}).approval);
}

// RUN-10: a user typed, or the tool continued.
TEST_P(RunQuestionsTest, withdrawn_question_resumes_the_run) {
  const base::RunId run = begin_run();
  const base::ApprovalId id = ask(run, Delivery::terminal, 7).approval.value().approval_id;
  const auto withdraw = [&] {
    return call([&](Transaction& transaction) { return withdraw_question(transaction, id, "gone"); });
  };
  const auto find = [&](base::RunId waiting) {
    return call([&](Transaction& transaction) { return find_answered(transaction, {waiting}); });
  };
  EXPECT_TRUE(find(run).empty()) << "it is open";
  EXPECT_EQ(withdraw().value().status, RunStatus::running);
  EXPECT_TRUE(find(run).empty()) << "nothing follows for a run that has gone on";
  EXPECT_EQ(approval_of(id).status, ApprovalStatus::expired);
  EXPECT_FALSE(approval_of(id).decided_by);
  EXPECT_FALSE(withdraw());
  EXPECT_EQ(decide(id, Word::approve).refusal, engine::Refusal::already_resolved);
  // Decided at the same moment: the decision counts.
  const base::ApprovalId other = ask(run, Delivery::terminal, 8).approval.value().approval_id;
  decide(other, Word::reject);
  EXPECT_FALSE(call([&](Transaction& transaction) { return withdraw_question(transaction, other, "gone"); }));
  EXPECT_EQ(approval_of(other).status, ApprovalStatus::rejected);
}

// With a shared store: a run that another daemon expired or ended is ended on its own host.
TEST_P(RunQuestionsTest, question_closed_by_another_daemon_is_found) {
  const auto find = [&](base::RunId waiting) {
    return call([&](Transaction& transaction) { return find_answered(transaction, {waiting}); });
  };
  const base::RunId run = begin_run();
  expire(ask(run, Delivery::terminal, 7).approval.value().approval_id);
  ASSERT_EQ(find(run).size(), 1U);
  EXPECT_EQ(find(run).front().kind, Kind::end_process);
  const base::RunId cancelled = begin_run();
  ask(cancelled, Delivery::terminal, 7);
  call([&](Transaction& transaction) { move_run(transaction, cancelled, {.to = RunStatus::cancelled}); });
  ASSERT_EQ(find(cancelled).size(), 1U);
  EXPECT_EQ(find(cancelled).front().kind, Kind::end_process);
}

// APR-7, RUN-10
TEST_P(RunQuestionsTest, typed_answer_is_used_and_untyped_answer_is_void) {
  const auto type = [&](base::ApprovalId id, bool is_typed) {
    call([&](Transaction& transaction) { record_typed(transaction, id, is_typed); });
    return approval_of(id).use;
  };
  const base::RunId run = begin_run();
  const auto ask_prompt = [&](std::int64_t prompt) {
    return ask(run, Delivery::terminal, prompt).approval.value().approval_id;
  };
  const base::ApprovalId first = ask_prompt(1);
  EXPECT_EQ(type(first, true), ApprovalUse::unused) << "nobody said yes";
  decide(first, Word::approve);
  EXPECT_EQ(type(first, true), ApprovalUse::used);
  EXPECT_EQ(type(first, false), ApprovalUse::used) << "told twice";
  const base::ApprovalId second = ask_prompt(2);
  decide(second, Word::approve);
  EXPECT_EQ(type(second, false), ApprovalUse::void_);
  EXPECT_EQ(type(second, true), ApprovalUse::void_);
  const base::ApprovalId third = ask_prompt(3);
  decide(third, Word::reject);
  EXPECT_EQ(type(third, true), ApprovalUse::unused) << "a no is no grant";
}

}  // namespace
}  // namespace reeve::ledger
