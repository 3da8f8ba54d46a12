#include <algorithm>

#include <gtest/gtest.h>

#include "engine/run.h"

namespace reeve::engine {
namespace {

using base::ApprovalId;
using base::Milliseconds;
using model::RunStatus;
using std::chrono::minutes;

const base::BootTime start(std::chrono::hours(1));

std::optional<base::BootTime> timer_in(const std::vector<RunAction>& actions, RunTimer timer) {
  for (const RunAction& action : actions) {
    const auto* set = std::get_if<SetTimer>(&action);
    if (set != nullptr && set->timer == timer) return set->when;
  }
  return std::nullopt;
}

template <class Action>
bool has(const std::vector<RunAction>& actions) {
  return std::ranges::any_of(actions, [](const RunAction& one) { return std::holds_alternative<Action>(one); });
}

// Tool calls that wait for a person (TOOL-3, APR-9).
class RunCalls : public ::testing::Test {
 protected:
  RunCalls() {
    state.terms.no_output_timeout = base::TimeLimit::of(minutes(5));
    state.clock = Ticking{start + minutes(30)};
    state.silence.since = start;
    state.news.stored_at = start;
  }
  std::vector<RunAction> on(const RunEvent& event, Milliseconds after = Milliseconds(0)) {
    return decide(state, event, start + after);
  }

  RunState state;
};

// RUN-3
TEST_F(RunCalls, clock_stands_still_until_the_last_one_is_answered) {
  on(RunBegun{});
  const auto waits = on(CallWaits{ApprovalId(1)}, minutes(10));
  EXPECT_TRUE(has<ClearTimer>(waits));
  EXPECT_EQ(state.status, RunStatus::waiting_approval);
  on(CallWaits{ApprovalId(2)}, minutes(20));
  const auto first = on(CallAnswered{ApprovalId(1), RunStatus::waiting_approval}, minutes(100));
  EXPECT_TRUE(first.empty()) << "the other one still waits";
  EXPECT_EQ(time_left(state, start + minutes(400)), minutes(20));
  const auto last = on(CallAnswered{ApprovalId(2), RunStatus::running}, minutes(500));
  EXPECT_EQ(timer_in(last, RunTimer::deadline), start + minutes(520)) << "20 of 30 minutes were left";
  EXPECT_TRUE(timer_in(last, RunTimer::silence)) << "RUN-5 applies again";
  EXPECT_TRUE(has<StoreNews>(last)) << "the next daemon must know the new deadline";
  EXPECT_FALSE(waits_for_person(state));
}

// RUN-5
TEST_F(RunCalls, silence_is_no_stall_while_one_waits) {
  on(CallWaits{ApprovalId(1)}, minutes(1));
  EXPECT_FALSE(needs_activity(state, start + minutes(60)));
  EXPECT_TRUE(on(TimerFired{.timer = RunTimer::silence}, minutes(60)).empty());
}

// APR-9: one question at most, and any number of calls beside it.
TEST_F(RunCalls, question_and_calls_wait_for_each_other) {
  on(QuestionSubmitted{});
  on(QuestionStored{AskedQuestion{ApprovalId(1), {}}}, minutes(10));
  on(CallWaits{ApprovalId(2)}, minutes(11));
  const auto answered =
      on(QuestionAnswered{.id = ApprovalId(1), .effect = AnswerEffect::resume, .status = RunStatus::waiting_approval},
         minutes(20));
  EXPECT_FALSE(timer_in(answered, RunTimer::deadline));
  EXPECT_TRUE(timer_in(on(CallAnswered{ApprovalId(2), RunStatus::running}, minutes(30)), RunTimer::deadline));
}

// RUN-10: a tool whose call waits may still be asked about at its terminal.
TEST_F(RunCalls, prompt_is_handled_while_one_waits) {
  on(CallWaits{ApprovalId(1)});
  EXPECT_TRUE(has<ReadScreen>(on(PromptShown{{.serial = 1}})));
}

// APR-8: an answer concerns its call only, once.
TEST_F(RunCalls, answer_is_for_its_own_call) {
  on(QuestionSubmitted{});
  on(QuestionStored{AskedQuestion{ApprovalId(1), {}}});
  on(CallWaits{ApprovalId(2)});
  EXPECT_TRUE(awaits_answer(state, ApprovalId(1)));
  EXPECT_TRUE(awaits_answer(state, ApprovalId(2)));
  EXPECT_FALSE(awaits_answer(state, ApprovalId(3)));
  EXPECT_TRUE(on(CallAnswered{ApprovalId(3), RunStatus::running}).empty()) << "unknown";
  on(QuestionAnswered{.id = ApprovalId(2), .effect = AnswerEffect::resume, .status = RunStatus::waiting_approval});
  EXPECT_TRUE(state.question) << "the question is still open";
  EXPECT_FALSE(awaits_answer(state, ApprovalId(2)));
  EXPECT_TRUE(on(CallAnswered{ApprovalId(2), RunStatus::running}).empty()) << "it was answered before";
}

// RUN-3: the time of the wait is not counted by the next daemon either.
TEST_F(RunCalls, deadline_that_is_being_stored_does_not_survive_the_wait) {
  on(CallWaits{ApprovalId(1)}, minutes(1));
  EXPECT_TRUE(has<StoreNews>(on(CallAnswered{ApprovalId(1), RunStatus::running}, minutes(2))));
  // Stored before the deadline, and reported before it.
  EXPECT_TRUE(has<StoreTimeLeft>(on(CallWaits{ApprovalId(2)}, minutes(2))));
}

// RUN-13
TEST_F(RunCalls, adopted_run_waits_for_the_calls_of_the_store) {
  state.status = RunStatus::waiting_approval;
  state.clock = Paused{minutes(20)};
  on(RunAdopted{.question = {}, .waiting_calls = {ApprovalId(1), ApprovalId(2)}});
  EXPECT_TRUE(on(CallAnswered{ApprovalId(1), RunStatus::waiting_approval}, minutes(1)).empty());
  const auto last = on(CallAnswered{ApprovalId(2), RunStatus::running}, minutes(2));
  EXPECT_EQ(timer_in(last, RunTimer::deadline), start + minutes(22));
}

// A person's pause outlasts the calls.
TEST_F(RunCalls, paused_run_stays_paused_when_its_call_is_answered) {
  on(PauseRequested{});
  on(PauseStored{true});
  on(CallWaits{ApprovalId(1)}, minutes(1));
  EXPECT_FALSE(timer_in(on(CallAnswered{ApprovalId(1), RunStatus::running}, minutes(2)), RunTimer::deadline));
  on(ResumeRequested{}, minutes(3));
  EXPECT_TRUE(timer_in(on(ResumeStored{true}, minutes(4)), RunTimer::deadline));
}

TEST_F(RunCalls, change_nothing_after_the_exit) {
  on(CallWaits{ApprovalId(1)});
  on(ProcessExited{});
  EXPECT_TRUE(on(CallWaits{ApprovalId(2)}).empty());
  EXPECT_TRUE(on(CallAnswered{ApprovalId(1), RunStatus::running}).empty());
  EXPECT_FALSE(awaits_answer(state, ApprovalId(1)));
}

}  // namespace
}  // namespace reeve::engine
