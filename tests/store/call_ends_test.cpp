#include "tests/store/calls_fixture.h"

// What becomes of tool calls when their attempt ends, and of those that the tool host runs (APR-7, APR-8, TOOL-7).
namespace reeve::ledger {
namespace {

using model::ApprovalStatus;
using model::ApprovalUse;
using model::CallDecision;
using model::CallOutcome;
using model::RunStatus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = RunConsequence::Kind;
using Word = engine::Answer::Word;

REEVE_CALLS_SUITE(CallEndsTest);

// APR-8: a released run resumes when its last call is answered, whatever the answer, and only once.
TEST_P(CallEndsTest, released_run_resumes_on_any_last_answer) {
  for (const int answer : {0, 1, 2}) {
    SCOPED_TRACE(answer);
    const base::RunId run = begin_run();
    const CallStored first = ask(run, "c1");
    const CallStored last = ask(run, "c2", "mcp:t/other");
    const CallsLeft left = leave(run, true);
    EXPECT_EQ(left.waiting, 2);
    EXPECT_EQ(left.answered, 0);
    EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
    EXPECT_EQ(call_of(first.row.call.call_id).outcome, CallOutcome::deferred);
    EXPECT_FALSE(decide(first.asked->approval_id, Word::approve)) << "one still waits";
    EXPECT_EQ(resume(run).refusal, engine::GrantRefusal::not_granted);
    EXPECT_THAT(find_released(*session_, "here", 10), IsEmpty());
    const base::ApprovalId id = last.asked->approval_id;
    const auto found = answer == 0 ? decide(id, Word::approve) : answer == 1 ? decide(id, Word::reject) : expire(id);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, Kind::resume_released);
    EXPECT_EQ(status_of(run), RunStatus::waiting_approval);
    EXPECT_THAT(find_released(*session_, "here", 10), ElementsAre(run));
    EXPECT_THAT(find_released(*session_, "elsewhere", 10), IsEmpty());
    EXPECT_EQ(count_deferred(*session_, run).answered, 2);
    EXPECT_EQ(resume(run).attempt, 2);
    EXPECT_EQ(status_of(run), RunStatus::running);
    EXPECT_FALSE(resume(run).attempt) << "it has resumed";
    EXPECT_THAT(find_released(*session_, "here", 10), IsEmpty());
    // The agent asks again, under the same name and under another one.
    const CallStored same = ask(run, "c1", "mcp:t/asked", 2);
    EXPECT_EQ(same.row.call.call_id, first.row.call.call_id);
    EXPECT_EQ(take(same.row.call.call_id, 1).row.call.answer, CallDecision::deny) << "the attempt has ended";
    EXPECT_EQ(take(same.row.call.call_id, 2).row.call.answer, CallDecision::allow);
    EXPECT_EQ(approval_of(first.asked->approval_id).use, ApprovalUse::used);
    const CallStored renamed = ask(run, "new", "mcp:t/other", 2);
    EXPECT_EQ(renamed.row.call.call_id, last.row.call.call_id);
    const CallStored told = take(renamed.row.call.call_id, 2);
    EXPECT_EQ(told.row.call.answer, answer == 0 ? CallDecision::allow : CallDecision::deny);
    ASSERT_TRUE(told.approval);
    EXPECT_EQ(told.approval->comment.has_value(), answer != 2) << "the agent learns the person's words";
    EXPECT_EQ(ask(run, "new", "mcp:t/other", 2).row.call.call_id, last.row.call.call_id) << "a retry";
    EXPECT_NE(ask(run, "third", "mcp:t/other", 2).row.call.call_id, last.row.call.call_id) << "used up";
  }
  testing::expect_consistent(*session_);
}

// Answered, but the agent left before it learned of it: it resumes at once.
TEST_P(CallEndsTest, untaken_answer_is_kept_for_the_next_attempt) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  decide(stored.asked->approval_id, Word::approve);
  const CallsLeft left = leave(run, true);
  EXPECT_EQ(left.answered, 1);
  EXPECT_EQ(left.waiting, 0);
  EXPECT_EQ(take(stored.row.call.call_id).row.call.answer, CallDecision::deny) << "nobody is there";
  EXPECT_THAT(find_released(*session_, "here", 10), ElementsAre(run));
  EXPECT_EQ(resume(run).attempt, 2);
  // It does not ask again, and ends in the same way: nothing is left to resume for.
  const CallsLeft again = leave(run, true, 2);
  EXPECT_EQ(again.answered + again.waiting, 0);
  EXPECT_EQ(status_of(run), RunStatus::completed);
  EXPECT_EQ(call_of(stored.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_EQ(approval_of(stored.asked->approval_id).use, ApprovalUse::void_);
}

// A live run does not resume, nor one that a question keeps waiting.
TEST_P(CallEndsTest, only_a_released_run_that_waits_for_nothing_resumes) {
  const base::RunId live = begin_run();
  const CallStored one = ask(live);
  EXPECT_FALSE(resume(live).attempt);
  decide(one.asked->approval_id, Word::approve);
  EXPECT_FALSE(resume(live).attempt);
  const base::RunId asking = begin_run();
  const CallStored other = ask(asking);
  const Asked asked = ask_plainly(asking);
  leave(asking, true);
  EXPECT_FALSE(decide(other.asked->approval_id, Word::approve));
  EXPECT_FALSE(resume(asking).attempt) << "its question is open";
  EXPECT_EQ(decide(asked.approval->approval_id, Word::approve).value().kind, Kind::start_next);
  EXPECT_FALSE(resume(asking).attempt) << "it starts on its grant";
  EXPECT_THAT(find_released(*session_, "here", 10), IsEmpty());
  // What a person denied meanwhile stays denied, whoever said yes before.
  policies_.tools["mcp:t/asked"] = {{.policy = model::Policy::deny, .when = {}}};
  call([&](Transaction& transaction) {
    return begin_attempt(transaction, asking, {.epoch = 4, .grant = asked.approval->approval_id, .digest = "sha256:a"});
  });
  EXPECT_EQ(ask(asking, "c1", "mcp:t/asked", 2).row.call.answer, CallDecision::deny);
}

// Every other end withdraws what waits; what was allowed may have run.
TEST_P(CallEndsTest, ended_attempt_leaves_no_open_call) {
  const base::RunId run = begin_run();
  const CallStored waiting = ask(run, "c1");
  const CallStored answered = ask(run, "c2", "mcp:t/other");
  const CallStored used = ask(run, "c3", "mcp:t/allowed");
  const CallStored denied = ask(run, "c4", "mcp:t/denied");
  decide(answered.asked->approval_id, Word::approve);
  take(used.row.call.call_id);
  take(denied.row.call.call_id);
  // Even if nobody asks for it.
  call([&](Transaction& transaction) { move_run(transaction, run, {.to = RunStatus::failed}); });
  EXPECT_EQ(call_of(waiting.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_EQ(call_of(waiting.row.call.call_id).answer, CallDecision::deny);
  EXPECT_EQ(approval_of(waiting.asked->approval_id).status, ApprovalStatus::expired);
  EXPECT_EQ(call_of(answered.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_EQ(approval_of(answered.asked->approval_id).use, ApprovalUse::void_);
  EXPECT_EQ(call_of(used.row.call.call_id).outcome, CallOutcome::lost);
  EXPECT_EQ(call_of(denied.row.call.call_id).outcome, CallOutcome::denied);
  EXPECT_EQ(take(answered.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(ledger_.decide(waiting.asked->approval_id, {Word::approve, {}, {}, "ana"}).refusal,
            engine::Refusal::already_resolved);
  EXPECT_EQ(status_of(run), RunStatus::failed);
  testing::expect_consistent(*session_);
}

// RUN-13: a lost attempt's calls do not answer those of the next one.
TEST_P(CallEndsTest, rerun_attempt_asks_anew) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  decide(stored.asked->approval_id, Word::approve);
  call([&](Transaction& transaction) {
    return rerun_attempt(transaction, run, {.attempt = 1, .epoch = 4}, {.epoch = 4});
  });
  const CallStored again = ask(run, "c1", "mcp:t/asked", 2);
  EXPECT_NE(again.row.call.call_id, stored.row.call.call_id);
  EXPECT_FALSE(take(again.row.call.call_id, 2).row.call.answer);
}

// TOOL-4: a hosted call begins once, after its yes was taken, by the attempt that took it.
TEST_P(CallEndsTest, hosted_call_begins_once) {
  const base::RunId run = begin_run();
  const base::RunId child = begin_run();
  CallAttempt attempt = make_call("c1");
  attempt.is_hosted = true;
  const CallStored stored = store(run, attempt).value();
  const base::CallId id = stored.row.call.call_id;
  const auto begin = [&](base::CallId begun, int number = 1, std::int64_t epoch = 4) {
    return call([&](Transaction& transaction) {
      return begin_hosted(transaction, begun, {.attempt = number, .epoch = epoch}, child);
    });
  };
  EXPECT_FALSE(begin(id)) << "it waits";
  decide(stored.asked->approval_id, Word::approve);
  EXPECT_FALSE(begin(id)) << "its answer was not taken";
  take(id);
  EXPECT_FALSE(begin(id, 1, 3)) << "another daemon has the run";
  EXPECT_FALSE(begin(id, 2));
  EXPECT_TRUE(begin(id));
  EXPECT_FALSE(begin(id)) << "it may have run";
  EXPECT_EQ(row_of(id).child_run, child);
  EXPECT_TRUE(row_of(id).begun_at);
  call([&](Transaction& transaction) { end_hosted(transaction, id, false, R"({"content":"done"})", 12); });
  EXPECT_EQ(call_of(id).outcome, CallOutcome::ran);
  EXPECT_EQ(row_of(id).result, R"({"content":"done"})");
  EXPECT_EQ(call_of(id).duration_ms, 12);
  EXPECT_FALSE(begin(id));
  // Not hosted, denied, unknown.
  EXPECT_FALSE(begin(ask(run, "c2", "mcp:t/allowed").row.call.call_id));
  attempt = make_call("c3", "mcp:t/denied");
  attempt.is_hosted = true;
  const base::CallId denied = store(run, attempt).value().row.call.call_id;
  take(denied);
  EXPECT_FALSE(begin(denied));
  EXPECT_FALSE(begin(base::CallId(999)));
  // Begun, and the daemon is killed: never begun again.
  attempt = make_call("c4", "mcp:t/allowed");
  attempt.is_hosted = true;
  const base::CallId lost = store(run, attempt).value().row.call.call_id;
  take(lost);
  EXPECT_TRUE(begin(lost));
  leave(run, false);
  EXPECT_EQ(call_of(lost).outcome, CallOutcome::lost);
  EXPECT_FALSE(begin(lost));
  call([&](Transaction& transaction) { end_hosted(transaction, lost, false, "{}", 1); });
  EXPECT_EQ(call_of(lost).outcome, CallOutcome::lost) << "too late";
}

// TOOL-7: what an agent reports about a call that it ran itself.
TEST_P(CallEndsTest, result_of_a_call_is_stored_or_counts_as_ungated) {
  const base::RunId run = begin_run();
  const auto report = [&](base::CallId id, bool failed = false) {
    return call([&](Transaction& transaction) {
      return report_call(transaction, run, id, {.failed = failed, .digest = "sha256:r", .bytes = 7, .duration_ms = 3});
    });
  };
  const base::CallId ran = ask(run, "c1", "mcp:t/allowed").row.call.call_id;
  take(ran);
  EXPECT_EQ(report(ran).value().row.call.outcome, CallOutcome::ran);
  EXPECT_EQ(report(ran, true).value().row.call.outcome, CallOutcome::ran) << "the first report counts";
  EXPECT_EQ(call_of(ran).result_digest, "sha256:r");
  EXPECT_EQ(call_of(ran).result_bytes, 7);
  const base::CallId failed = ask(run, "c2", "mcp:t/allowed").row.call.call_id;
  take(failed);
  EXPECT_EQ(report(failed, true).value().row.call.outcome, CallOutcome::failed);
  EXPECT_EQ(column("SELECT count(*) FROM events WHERE kind = 'policy_denied'"), "0\n");

  const CallStored waiting = ask(run, "c3");
  EXPECT_EQ(report(waiting.row.call.call_id).value().row.call.outcome, CallOutcome::ungated);
  EXPECT_EQ(approval_of(waiting.asked->approval_id).status, ApprovalStatus::expired);
  EXPECT_EQ(status_of(run), RunStatus::running);
  EXPECT_EQ(take(waiting.row.call.call_id).row.call.answer, CallDecision::deny);
  EXPECT_EQ(column("SELECT count(*) FROM events WHERE kind = 'policy_denied'"), "1\n");
  const base::CallId denied = ask(run, "c4", "mcp:t/denied").row.call.call_id;
  take(denied);
  EXPECT_EQ(report(denied).value().row.call.outcome, CallOutcome::ungated);
  EXPECT_EQ(column("SELECT count(*) FROM audit_log WHERE kind = 'policy_denied'"), "3\n");
  const base::RunId other = begin_run();
  EXPECT_FALSE(call([&](Transaction& transaction) { return report_call(transaction, other, ran, {}); }))
      << "a call of another run";
}

// APR-7: a reported result uses the answer up: asked again, the call is over.
TEST_P(CallEndsTest, reported_call_gets_no_further_yes) {
  const base::RunId run = begin_run();
  const auto report = [&](base::CallId id, bool failed) {
    call([&](Transaction& transaction) { return report_call(transaction, run, id, {.failed = failed}); });
  };
  const CallStored asked = ask(run, "c1");
  decide(asked.asked->approval_id, Word::approve);
  const base::CallId approved = asked.row.call.call_id;
  EXPECT_EQ(take(approved).row.call.answer, CallDecision::allow);
  EXPECT_EQ(take(approved).row.call.answer, CallDecision::allow) << "its reply was lost";
  report(approved, false);
  EXPECT_EQ(ask(run, "c1").row.call.call_id, approved);
  const CallStored again = take(approved);
  EXPECT_EQ(again.row.call.answer, CallDecision::deny);
  EXPECT_THAT(again.row.call.reason.value_or(""), ::testing::HasSubstr("already over"));
  EXPECT_EQ(call_of(approved).outcome, CallOutcome::ran) << "the record stays";
  const base::CallId allowed = ask(run, "c2", "mcp:t/allowed").row.call.call_id;
  take(allowed);
  report(allowed, true);
  EXPECT_EQ(take(allowed).row.call.answer, CallDecision::deny);
  // What the tool host ran has a result for the attempt that asked.
  CallAttempt hosted = make_call("c3", "mcp:t/allowed");
  hosted.is_hosted = true;
  const base::CallId id = store(run, hosted).value().row.call.call_id;
  take(id);
  call([&](Transaction& transaction) { begin_hosted(transaction, id, {.attempt = 1, .epoch = 4}); });
  call([&](Transaction& transaction) { end_hosted(transaction, id, false, "{}", 1); });
  EXPECT_EQ(take(id).row.call.answer, CallDecision::allow);
  // Nor may the agent run what the host runs, or the other way round.
  EXPECT_EQ(testing::code_of([&] { ask(run, "c3", "mcp:t/allowed"); }), "call.not_allowed");
  hosted.record.native_id = "c2";
  EXPECT_EQ(testing::code_of([&] { store(run, hosted); }), "call.not_allowed");
}

// A session that is resumed may repeat what it has reported; what it had not, it may ask again.
TEST_P(CallEndsTest, resumed_session_does_not_run_a_reported_call_again) {
  const base::RunId run = begin_run();
  const auto make = [&](const std::string& native_id, int attempt, const std::string& session) {
    CallAttempt made = make_call(native_id, "mcp:t/allowed", attempt);
    made.record.session_id = session;
    return made;
  };
  const base::CallId ran = store(run, make("c1", 1, "s1")).value().row.call.call_id;
  const base::CallId lost = store(run, make("c2", 1, "s1")).value().row.call.call_id;
  take(ran);
  take(lost);
  call([&](Transaction& transaction) { return report_call(transaction, run, ran, {}); });
  call([&](Transaction& transaction) {
    return rerun_attempt(transaction, run, {.attempt = 1, .epoch = 4}, {.epoch = 4});
  });
  EXPECT_EQ(call_of(lost).outcome, CallOutcome::lost);
  const CallStored repeated = store(run, make("c1", 2, "s1")).value();
  EXPECT_EQ(repeated.row.call.call_id, ran);
  EXPECT_EQ(take(ran, 2).row.call.answer, CallDecision::deny);
  EXPECT_NE(store(run, make("c2", 2, "s1")).value().row.call.call_id, lost) << "decided anew";
  EXPECT_NE(store(run, make("c1", 2, "s2")).value().row.call.call_id, ran) << "another session counts its calls anew";
  EXPECT_NE(store(run, make_call("c1", "mcp:t/allowed", 2)).value().row.call.call_id, ran);
}

// A session that continues without its call.
TEST_P(CallEndsTest, withdrawn_call_does_not_wait) {
  const base::RunId run = begin_run();
  const CallStored stored = ask(run);
  const base::CallId id = stored.row.call.call_id;
  const auto withdraw = [&](base::RunId from, base::CallId what) {
    return call([&](Transaction& transaction) { return withdraw_call(transaction, from, what); });
  };
  EXPECT_FALSE(withdraw(begin_run(), id)) << "a call of another run";
  const auto gone = withdraw(run, id);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->row.call.outcome, CallOutcome::withdrawn);
  EXPECT_EQ(gone->run.status, RunStatus::running);
  EXPECT_EQ(approval_of(stored.asked->approval_id).status, ApprovalStatus::expired);
  EXPECT_EQ(take(id).row.call.answer, CallDecision::deny);
  // What was taken counts.
  const base::CallId taken = ask(run, "c2", "mcp:t/allowed").row.call.call_id;
  take(taken);
  EXPECT_FALSE(withdraw(run, taken).value().row.call.outcome);
  // Approved, but not needed any more.
  const CallStored late = ask(run, "c3", "mcp:t/other");
  decide(late.asked->approval_id, Word::approve);
  withdraw(run, late.row.call.call_id);
  EXPECT_EQ(approval_of(late.asked->approval_id).use, ApprovalUse::void_);
  EXPECT_EQ(take(late.row.call.call_id).row.call.answer, CallDecision::deny);
}

}  // namespace
}  // namespace reeve::ledger
