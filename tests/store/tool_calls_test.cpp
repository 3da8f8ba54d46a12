#include <barrier>
#include <thread>

#include "tests/store/calls_fixture.h"

// Tool calls in the ledger: decided, answered and used once (TOOL-3, TOOL-7, TOOL-9, APR-7 … APR-10).
namespace reeve::ledger {
namespace {

using model::ApprovalStatus;
using model::ApprovalUse;
using model::CallDecision;
using model::CallOutcome;
using model::RunStatus;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = RunConsequence::Kind;
using Word = engine::Answer::Word;

REEVE_CALLS_SUITE(ToolCallsTest);

// TOOL-7: what the rules allow is answered at once, and recorded.
TEST_P(ToolCallsTest, allowed_call_is_answered_in_the_transaction_that_stores_it) {
  const base::RunId run = begin_run({.project = model::make_project_ref("/work"), .tool_name = "coder"});
  CallAttempt attempt = make_call("c1", "mcp:t/allowed");
  attempt.record.session_id = "s1";
  attempt.record.arguments.set("path", base::Value::string("a"));
  const CallStored stored = call([&](Transaction& transaction) {
    const CallStored made = store_call(transaction, run, policies_, attempt).value();
    EXPECT_FALSE(made.asked);
    return take_answer(transaction, made.row.call.call_id, 1).value();
  });
  EXPECT_EQ(stored.row.call.answer, CallDecision::allow);
  EXPECT_EQ(stored.row.call.decision, CallDecision::allow);
  EXPECT_EQ(status_of(run), RunStatus::running);
  const auto listed = store::list_calls(*session_, {.project = "/work"});
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0], stored.row.call);
  EXPECT_EQ(listed[0].session_id, "s1");
  EXPECT_EQ(column("SELECT kind FROM audit_log"), "tool_call_decided\n");
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "0\n");
  testing::expect_consistent(*session_);
}

// TOOL-1: nobody is asked about what is denied.
TEST_P(ToolCallsTest, denied_call_is_told_and_recorded) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run, "c1", "mcp:t/denied");
  EXPECT_EQ(stored.row.call.answer, CallDecision::deny);
  EXPECT_EQ(take(stored.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(call_of(stored.row.call.call_id).outcome, CallOutcome::denied);
  EXPECT_EQ(column("SELECT kind FROM audit_log"), "policy_denied\n");
  EXPECT_THAT(column("SELECT data FROM events WHERE kind = 'policy_denied'"), HasSubstr("\"call_id\":\"TC-"));
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "0\n");
}

// APR-1, TOOL-3: the question, its events and the wait are one transaction; the clock stands still.
TEST_P(ToolCallsTest, asked_call_waits_for_a_person) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const base::CallId id = stored.row.call.call_id;
  ASSERT_TRUE(stored.asked);
  const model::Approval asked = approval_of(stored.asked->approval_id);
  EXPECT_EQ(asked.kind, model::ApprovalKind::tool_call);
  EXPECT_EQ(asked.digest, stored.row.call.arguments_digest);
  EXPECT_EQ(asked.tool_ref, "c1");
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  EXPECT_EQ(stored.run.status, RunStatus::waiting_approval);
  EXPECT_EQ(column("SELECT time_left_ms FROM run_attempts"), "1500\n");
  EXPECT_EQ(column("SELECT kind FROM events WHERE kind IN ('approval_needed', 'tool_approval_pending') ORDER BY seq"),
            "approval_needed\ntool_approval_pending\n");
  EXPECT_FALSE(take(id).row.call.answer) << "it waits";
  EXPECT_FALSE(row_of(id).taken_attempt);
  EXPECT_THAT(find_waiting_calls(*session_, run, 1), ElementsAre(asked.approval_id));

  const auto consequence = decide(asked.approval_id, Word::approve);
  ASSERT_TRUE(consequence);
  EXPECT_EQ(consequence->kind, Kind::go_on);
  EXPECT_EQ(status_of(run), RunStatus::running);
  EXPECT_EQ(approval_of(asked.approval_id).use, ApprovalUse::unused) << "used when the agent learns of it";
  EXPECT_EQ(take(id).row.call.answer, CallDecision::allow);
  EXPECT_EQ(approval_of(asked.approval_id).use, ApprovalUse::used);
  EXPECT_EQ(call_of(id).decided_by, "ana");
  testing::expect_consistent(*session_);
}

// A retry of the same call gets the same answer; the same name with other content is another call.
TEST_P(ToolCallsTest, call_is_known_by_run_name_and_content) {
  const base::RunId run = begin_run();
  const CallStored first = ask(run);
  const CallStored again = ask(run);
  EXPECT_EQ(again.row.call.call_id, first.row.call.call_id);
  EXPECT_FALSE(again.asked);
  ASSERT_TRUE(again.approval);
  EXPECT_EQ(again.approval->approval_id, first.asked->approval_id);
  CallAttempt changed = make_call("c1");
  changed.digest = "sha256:other";
  const CallStored other = store(run, changed).value();
  EXPECT_NE(other.row.call.call_id, first.row.call.call_id);
  decide(first.asked->approval_id, Word::approve);
  EXPECT_EQ(take(first.row.call.call_id).row.call.answer, CallDecision::allow);
  EXPECT_EQ(ask(run).row.call.answer, CallDecision::allow);
  EXPECT_FALSE(take(other.row.call.call_id).row.call.answer) << "arguments changed after the yes";
  EXPECT_NE(ask(begin_run()).row.call.call_id, first.row.call.call_id) << "another run";
  EXPECT_FALSE(store(run, make_call("c9", "mcp:t/asked", 2))) << "no such attempt";
}

// APR-7: an answer is used once, by the attempt that asked.
TEST_P(ToolCallsTest, answer_is_used_once) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const base::CallId id = stored.row.call.call_id;
  decide(stored.asked->approval_id, Word::approve);
  EXPECT_EQ(take(id, 2).row.call.answer, CallDecision::deny) << "another attempt";
  EXPECT_EQ(take(id).row.call.answer, CallDecision::allow);
  EXPECT_EQ(take(id).row.call.answer, CallDecision::allow) << "the reply was lost";
  EXPECT_EQ(take(id, 2).row.call.answer, CallDecision::deny);
  EXPECT_EQ(call_of(id).answer, CallDecision::allow);
  EXPECT_EQ(column("SELECT count(*) FROM audit_log WHERE kind = 'approval_used'"), "1\n");
  // Used by something else, although the call did not use it.
  const CallStored spent = ask(run, "c2", "mcp:t/other");
  decide(spent.asked->approval_id, Word::approve);
  session_->run_script(
      fmt::format("UPDATE approvals SET use = 'used' WHERE number = {}", spent.asked->approval_id.number()));
  EXPECT_EQ(take(spent.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(call_of(spent.row.call.call_id).outcome, CallOutcome::denied);
}

// APR-10: the approval counts only for the content that was shown.
TEST_P(ToolCallsTest, approval_of_other_content_is_void) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  session_->run_script("UPDATE approvals SET digest = 'sha256:shown'");
  decide(stored.asked->approval_id, Word::approve);
  EXPECT_EQ(take(stored.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(approval_of(stored.asked->approval_id).use, ApprovalUse::void_);
}

// APR-9: any number of calls waits; the run continues when none is left.
TEST_P(ToolCallsTest, run_waits_until_its_last_call_is_answered) {
  const base::RunId run = begin_run();
  const CallStored first = ask(run, "c1");
  const CallStored second = ask(run, "c2", "mcp:t/other");
  const CallStored third = ask(run, "c3", "mcp:t/third");
  decide(second.asked->approval_id, Word::approve);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  decide(first.asked->approval_id, Word::reject);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  EXPECT_EQ(expire(third.asked->approval_id).value().run.status, RunStatus::running);
  EXPECT_EQ(status_of(run), RunStatus::running);
  EXPECT_EQ(take(first.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(take(second.row.call.call_id).row.call.answer, CallDecision::allow);
  EXPECT_EQ(take(third.row.call.call_id).row.call.answer, CallDecision::deny);
}

// APR-8: a refusal and silence deny the call; the run and its agent continue, and learn why.
TEST_P(ToolCallsTest, refusal_and_expiry_deny_the_call_only) {
  const base::RunId run = begin_run();
  const CallStored refused = ask(run, "c1");
  decide(refused.asked->approval_id, Word::reject);
  EXPECT_EQ(status_of(run), RunStatus::running);
  const CallStored told = take(refused.row.call.call_id);
  EXPECT_EQ(told.row.call.answer, CallDecision::deny);
  ASSERT_TRUE(told.approval);
  EXPECT_EQ(told.approval->comment, "why");
  EXPECT_EQ(told.row.call.reason, "rejected by ana: why");
  const CallStored silent = ask(run, "c2", "mcp:t/other");
  EXPECT_EQ(expire(silent.asked->approval_id).value().kind, Kind::go_on);
  EXPECT_EQ(status_of(run), RunStatus::running);
  EXPECT_EQ(take(silent.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(call_of(silent.row.call.call_id).reason, "approval expired");
  EXPECT_EQ(column("SELECT count(*) FROM run_attempts WHERE ending IS NOT NULL"), "0\n");
}

// APR-6: a plain SQL update decides a call like any other approval, and an invalid one does not.
TEST_P(ToolCallsTest, plain_update_decides_a_call) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const base::ApprovalId id = stored.asked->approval_id;
  const auto settle = [&] {
    StepResult step;
    return call([&](Transaction& transaction) {
             return settle_outside(transaction, ledger_->executions(), ledger_.worker(), id);
           })
        .kind;
  };
  // PostgreSQL tells the ledger of the update, which may then be first.
  const bool is_told = GetParam() == store::Place::Kind::postgresql;
  session_->run_script("UPDATE approvals SET status = 'approved', chosen_value = 'perhaps'");
  const auto voided = settle();
  EXPECT_TRUE(voided == OutsideResult::Kind::voided || (is_told && voided == OutsideResult::Kind::nothing));
  EXPECT_FALSE(take(stored.row.call.call_id).row.call.answer);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
  session_->run_script("UPDATE approvals SET status = 'approved'");
  if (!is_told) EXPECT_FALSE(take(stored.row.call.call_id).row.call.answer) << "it counts once it is settled";
  const auto settled = settle();
  EXPECT_TRUE(settled == OutsideResult::Kind::settled || (is_told && settled == OutsideResult::Kind::nothing));
  EXPECT_EQ(status_of(run), RunStatus::running);
  EXPECT_EQ(take(stored.row.call.call_id).row.call.answer, CallDecision::allow);
  EXPECT_EQ(call_of(stored.row.call.call_id).decided_by, "outside");
}

// Every queue has a bound; what is beyond it is not stored, and so not allowed.
TEST_P(ToolCallsTest, waiting_calls_and_calls_of_a_run_are_bounded) {
  const base::RunId run = begin_run();
  call([&](Transaction& transaction) {
    for (int i = 0; i < 1'000; ++i) {
      CallAttempt attempt = make_call(fmt::format("c{}", i));
      attempt.digest = fmt::format("sha256:{}", i);
      EXPECT_TRUE(store_call(transaction, run, policies_, attempt));
    }
  });
  CallAttempt attempt = make_call("more");
  EXPECT_EQ(code_of([&] { store(run, attempt); }), "call.too_many");
  EXPECT_TRUE(store(run, make_call("free", "mcp:t/allowed"))) << "it does not wait";
  EXPECT_TRUE(store(begin_run(), attempt)) << "another run";
  session_->run_script(
      fmt::format("UPDATE tool_calls SET ordinal = 100000 WHERE native_id = 'free' AND run = {}", run.number()));
  EXPECT_EQ(code_of([&] { store(run, make_call("most", "mcp:t/allowed")); }), "call.too_many");
}

// APR-9: one plain question, whatever waits besides; each is answered for itself.
TEST_P(ToolCallsTest, plain_question_and_calls_are_independent) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const Asked asked = ask_plainly(run);
  ASSERT_TRUE(asked.approval) << "a call is no question";
  EXPECT_FALSE(ask_plainly(run).approval) << "a second plain one";
  const CallStored later = ask(run, "c2", "mcp:t/other");
  const auto last = find_question_of(*session_, run, 1);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->approval.approval_id, asked.approval->approval_id);
  EXPECT_THAT(find_approvals_of(*session_, run, 10), SizeIs(3));
  EXPECT_THAT(find_approvals_of(*session_, run, 10, model::ApprovalKind::question), SizeIs(1));
  decide(stored.asked->approval_id, Word::approve);
  decide(later.asked->approval_id, Word::approve);
  EXPECT_EQ(status_of(run), RunStatus::waiting_approval) << "for the question";
  EXPECT_EQ(decide(asked.approval->approval_id, Word::approve).value().kind, Kind::go_on);
  EXPECT_EQ(status_of(run), RunStatus::running);
  const CallStored more = ask(run, "c3", "mcp:t/third");
  const auto polled = call([&](Transaction& transaction) { return find_answered(transaction, {run}); });
  for (const RunConsequence& one : polled) EXPECT_EQ(one.approval.approval_id, asked.approval->approval_id);
  // Nobody starts an attempt on the approval of a call.
  EXPECT_THAT(find_granted(*session_, "here", 10), IsEmpty());
  const AttemptResult begun = call([&](Transaction& transaction) {
    return begin_attempt(transaction, run, {.grant = stored.asked->approval_id, .digest = "sha256:mcp:t/asked"});
  });
  EXPECT_FALSE(begun.attempt);
  EXPECT_EQ(begun.refusal, engine::GrantRefusal::not_granted);
  EXPECT_EQ(take(stored.row.call.call_id).row.call.answer, CallDecision::allow);
}

// APR-9: a refused question is recorded, and is no policy event.
TEST_P(ToolCallsTest, refused_question_is_no_policy_event) {
  const base::RunId run = begin_run();
  call([&](Transaction& transaction) {
    record_refused_questions(transaction, store::find_run(transaction.session(), run).value().run, 2, "Really?");
  });
  EXPECT_EQ(column("SELECT kind FROM audit_log"), "question_refused\n");
  EXPECT_EQ(column("SELECT count(*) FROM events WHERE kind = 'policy_denied'"), "0\n");
  EXPECT_THAT(column("SELECT data FROM events ORDER BY seq DESC LIMIT 1"), HasSubstr("2 questions were refused"));
}

// APR-2: two daemons answer at once; one answer counts, and it is used once.
TEST_P(ToolCallsTest, one_of_two_answers_counts) {
  std::optional<testing::TestLedger> own;
  if (store_.is_postgresql()) own.emplace(store_);
  testing::TestLedger& other = own ? *own : ledger_;
  const base::RunId run = begin_run();
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    const CallStored stored = ask(run, fmt::format("c{}", round));
    const base::ApprovalId id = stored.asked->approval_id;
    DecisionResult yes;
    DecisionResult no;
    std::barrier ready(2);
    {
      std::jthread ben([&] {
        ready.arrive_and_wait();
        no = other.decide(id, {Word::reject, {}, {}, "ben"});
      });
      ready.arrive_and_wait();
      yes = ledger_.decide(id, {Word::approve, {}, {}, "ana"});
    }
    EXPECT_NE(yes.refusal.has_value(), no.refusal.has_value());
    const CallDecision expected = yes.refusal ? CallDecision::deny : CallDecision::allow;
    CallStored taken[2];
    {
      std::jthread second([&] {
        taken[1] = other->call(
            [&](Transaction& transaction) { return take_answer(transaction, stored.row.call.call_id, 1).value(); });
      });
      taken[0] = take(stored.row.call.call_id);
    }
    for (const CallStored& one : taken) EXPECT_EQ(one.row.call.answer, expected);
    EXPECT_EQ(approval_of(id).use, yes.refusal ? ApprovalUse::unused : ApprovalUse::used);
  }
  EXPECT_EQ(status_of(run), RunStatus::running);
  testing::expect_consistent(*session_);
}

// The database itself refuses what no ledger does.
TEST_P(ToolCallsTest, store_refuses_impossible_calls) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const auto refuses = [&](const std::string& set) {
    return !code_of([&] { session_->run_script("UPDATE tool_calls SET " + set); }).empty();
  };
  EXPECT_TRUE(refuses("answer = 'allow'")) << "without a time";
  EXPECT_TRUE(refuses("begun_at = 'now'")) << "before the yes";
  EXPECT_TRUE(refuses("outcome = 'ran'")) << "before the yes";
  EXPECT_TRUE(refuses("ordinal = 100001"));
  decide(stored.asked->approval_id, Word::reject);
  EXPECT_TRUE(refuses("answer = 'allow'"));
  take(stored.row.call.call_id);
  EXPECT_TRUE(refuses("taken_attempt = 2"));
  EXPECT_TRUE(refuses("outcome = NULL"));
  EXPECT_TRUE(refuses("outcome = 'ran'"));
}

// Calls are listed in both directions.
TEST_P(ToolCallsTest, calls_are_listed) {
  const base::RunId run = begin_run();
  std::vector<base::CallId> ids;
  for (const char* name : {"a", "b", "c"}) ids.push_back(ask(run, name, "mcp:t/allowed").row.call.call_id);
  const auto list = [&](const store::CallFilter& filter) {
    std::vector<base::CallId> found;
    for (const model::ToolCall& one : store::list_calls(*session_, filter)) found.push_back(one.call_id);
    return found;
  };
  EXPECT_THAT(list({}), ElementsAre(ids[2], ids[1], ids[0]));
  EXPECT_THAT(list({.run = run, .before = ids[2]}), ElementsAre(ids[1], ids[0]));
  EXPECT_THAT(list({.after = ids[0]}), ElementsAre(ids[1], ids[2]));
  EXPECT_THAT(list({.run = run, .after = ids[0], .most = 1}), ElementsAre(ids[1]));
  EXPECT_THAT(list({.project = "/elsewhere"}), IsEmpty());
  EXPECT_THAT(list({.run = begin_run()}), IsEmpty());
  EXPECT_FALSE(store::find_call(*session_, base::CallId(999)));
}

}  // namespace
}  // namespace reeve::ledger
