#include "engine/run.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using base::ApprovalId;
using base::Milliseconds;
using model::RunEnding;
using model::RunStatus;
using std::chrono::minutes;
using std::chrono::seconds;

const base::BootTime start(std::chrono::hours(1));

template <class Action>
const Action* find(const std::vector<RunAction>& actions) {
  for (const RunAction& action : actions) {
    if (const auto* found = std::get_if<Action>(&action)) return found;
  }
  return nullptr;
}

std::optional<base::BootTime> timer_in(const std::vector<RunAction>& actions, RunTimer timer) {
  for (const RunAction& action : actions) {
    const auto* set = std::get_if<SetTimer>(&action);
    if (set != nullptr && set->timer == timer) return set->when;
  }
  return std::nullopt;
}

bool clears(const std::vector<RunAction>& actions, RunTimer timer) {
  return std::ranges::any_of(actions, [&](const RunAction& action) {
    const auto* clear = std::get_if<ClearTimer>(&action);
    return clear != nullptr && clear->timer == timer;
  });
}

class RunDecision : public ::testing::Test {
 protected:
  RunDecision() {
    state.terms.no_output_timeout = base::TimeLimit::of(minutes(5));
    state.clock = Ticking{start + minutes(30)};
    state.silence.since = start;
    state.news.stored_at = start;
  }

  std::vector<RunAction> on(const RunEvent& event, Milliseconds after = Milliseconds(0)) {
    return decide(state, event, start + after);
  }
  void ask(std::optional<std::uint32_t> prompt = {}) {
    on(QuestionSubmitted{});
    on(QuestionStored{AskedQuestion{ApprovalId(1), prompt}}, minutes(10));
  }

  RunState state;
};

// RUN-3
TEST_F(RunDecision, begins_with_both_limits) {
  const auto actions = on(RunBegun{});
  EXPECT_EQ(timer_in(actions, RunTimer::deadline), start + minutes(30));
  EXPECT_EQ(timer_in(actions, RunTimer::silence), start + Milliseconds(150'000));
}

// RUN-4: the reason is stored before the process is stopped.
TEST_F(RunDecision, timeout_is_stored_before_the_process_is_stopped) {
  const auto fired = on(TimerFired{.timer = RunTimer::deadline}, minutes(30));
  EXPECT_EQ(find<StopProcess>(fired), nullptr);
  const auto* store = find<StoreEnding>(fired);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->why.status, RunStatus::failed_timeout);
  EXPECT_EQ(store->why.reason, "timeout");
  const auto stored = on(EndingStored{store->why, store->grace, true, true}, minutes(30));
  ASSERT_NE(find<StopProcess>(stored), nullptr);
  EXPECT_EQ(find<StopProcess>(stored)->grace, state.terms.kill_grace);
}

TEST_F(RunDecision, timeout_that_cannot_be_stored_is_tried_again) {
  on(TimerFired{.timer = RunTimer::deadline}, minutes(30));
  const RunEnding why{RunStatus::failed_timeout, "timeout", {}};
  const auto failed = on(EndingStored{why, state.terms.kill_grace, true, false}, minutes(30));
  EXPECT_EQ(find<StopProcess>(failed), nullptr);
  EXPECT_TRUE(is_alive(state));
  ASSERT_TRUE(timer_in(failed, RunTimer::ending));
  EXPECT_NE(find<StoreEnding>(on(TimerFired{.timer = RunTimer::ending}, minutes(31))), nullptr);
}

// RUN-15: the request fails, and can be repeated.
TEST_F(RunDecision, cancel_that_cannot_be_stored_changes_nothing) {
  on(EndRequested{{RunStatus::cancelled, "cancelled by ana", {}}, seconds(5)});
  const auto failed = on(EndingStored{{RunStatus::cancelled, "cancelled by ana", {}}, seconds(5), false, false});
  EXPECT_TRUE(failed.empty());
  EXPECT_TRUE(is_alive(state));
}

TEST_F(RunDecision, second_cancel_can_only_shorten_the_grace_period) {
  const RunEnding first{RunStatus::cancelled, "first", {}};
  on(EndRequested{first, seconds(5)});
  EXPECT_TRUE(on(EndRequested{{RunStatus::cancelled, "second", {}}, seconds(5)}).empty());
  EXPECT_TRUE(on(EndRequested{{RunStatus::cancelled, "third", {}}, Milliseconds(0)}).empty()) << "not stored yet";
  const auto stored = on(EndingStored{first, seconds(5), false, true});
  ASSERT_NE(find<StopProcess>(stored), nullptr);
  EXPECT_EQ(find<StopProcess>(stored)->grace.count(), 0);
  EXPECT_EQ(find_ending(state)->reason, "first");
}

// RUN-3: a limit that is reached while a cancel is being stored is not forgotten if that fails.
TEST_F(RunDecision, timeout_survives_a_cancel_that_cannot_be_stored) {
  const RunEnding cancel{RunStatus::cancelled, "cancelled by ana", {}};
  on(EndRequested{cancel, seconds(5)}, minutes(30));
  EXPECT_TRUE(on(TimerFired{.timer = RunTimer::deadline}, minutes(30)).empty());
  EXPECT_TRUE(timer_in(on(EndingStored{cancel, seconds(5), false, false}, minutes(30)), RunTimer::ending));
  const auto again = on(TimerFired{.timer = RunTimer::ending}, minutes(31));
  ASSERT_NE(find<StoreEnding>(again), nullptr);
  EXPECT_EQ(find<StoreEnding>(again)->why.reason, "timeout");
}

// RUN-3, RUN-5: time spent waiting for an approval does not count.
TEST_F(RunDecision, open_question_pauses_both_clocks) {
  on(RunBegun{});
  on(QuestionSubmitted{});
  const auto asked = on(QuestionStored{AskedQuestion{ApprovalId(1), {}}}, minutes(10));
  EXPECT_TRUE(clears(asked, RunTimer::deadline));
  EXPECT_TRUE(clears(asked, RunTimer::silence));
  ASSERT_NE(find<SendDeadline>(asked), nullptr);
  EXPECT_FALSE(find<SendDeadline>(asked)->deadline);
  const auto answered = on(QuestionAnswered{ApprovalId(1), AnswerEffect::resume}, minutes(500));
  EXPECT_EQ(timer_in(answered, RunTimer::deadline), start + minutes(520)) << "20 of 30 minutes were left";
  EXPECT_NE(find<StoreNews>(answered), nullptr) << "the next daemon must know the new deadline";
}

// APR-8
TEST_F(RunDecision, expired_question_ends_the_process) {
  ask();
  const auto expired = on(QuestionAnswered{ApprovalId(1), AnswerEffect::end_process}, minutes(11));
  EXPECT_NE(find<StopProcess>(expired), nullptr);
  EXPECT_EQ(find_ending(state)->reason, "approval expired");
}

TEST_F(RunDecision, answer_to_an_earlier_question_changes_nothing) {
  ask();
  EXPECT_FALSE(awaits_answer(state, ApprovalId(7)));
  EXPECT_TRUE(on(QuestionAnswered{ApprovalId(7), AnswerEffect::end_process}, minutes(11)).empty());
  EXPECT_TRUE(state.question);
}

// RUN-10
TEST_F(RunDecision, prompt_is_asked_about_once) {
  const auto shown = on(PromptShown{{.serial = 1}});
  ASSERT_NE(find<ReadScreen>(shown), nullptr);
  EXPECT_NE(find<AskAtTerminal>(on(ScreenRead{1, true})), nullptr);
  EXPECT_TRUE(on(PromptShown{{.serial = 1}}).empty()) << "the question is being stored";
  on(QuestionStored{AskedQuestion{ApprovalId(1), 1}});
  EXPECT_TRUE(on(PromptShown{{.serial = 1}}).empty()) << "the question is open";
}

TEST_F(RunDecision, probable_prompt_without_a_question_only_warns_and_once) {
  on(PromptShown{{.serial = 1, .is_certain = false}});
  EXPECT_NE(find<StoreWarning>(on(ScreenRead{1, false})), nullptr);
  on(PromptShown{{.serial = 2, .is_certain = false}});
  EXPECT_TRUE(on(ScreenRead{2, false}).empty());
}

TEST_F(RunDecision, prompt_fails_the_run_if_the_profile_says_so) {
  state.terms.on_prompt = model::PromptAction::fail;
  on(PromptShown{{.serial = 1}});
  const auto read = on(ScreenRead{1, true});
  ASSERT_NE(find<StoreEnding>(read), nullptr);
  EXPECT_EQ(find<StoreEnding>(read)->why.reason, "blocked on stdin");
  EXPECT_NE(find<StoreWarning>(read), nullptr);
}

TEST_F(RunDecision, question_is_withdrawn_when_its_prompt_disappears) {
  on(PromptShown{{.serial = 1}});
  on(ScreenRead{1, true});
  on(QuestionStored{AskedQuestion{ApprovalId(1), 1}});
  const auto gone = on(PromptGone{1});
  ASSERT_NE(find<WithdrawQuestion>(gone), nullptr);
  const auto withdrawn = on(QuestionWithdrawn{ApprovalId(1), 1, true, RunStatus::running}, minutes(1));
  EXPECT_FALSE(state.question);
  EXPECT_TRUE(timer_in(withdrawn, RunTimer::deadline));
}

TEST_F(RunDecision, question_is_withdrawn_when_its_prompt_disappeared_while_it_was_stored) {
  on(PromptShown{{.serial = 1}});
  on(ScreenRead{1, true});
  on(PromptGone{1});
  EXPECT_NE(find<WithdrawQuestion>(on(QuestionStored{AskedQuestion{ApprovalId(1), 1}})), nullptr);
}

// APR-7: an answer that the keeper refused is tried while its prompt stands, then given up and recorded.
TEST_F(RunDecision, refused_answer_is_typed_again_while_its_prompt_stands) {
  on(PromptShown{{.serial = 1}});
  on(ScreenRead{1, true});
  on(QuestionStored{AskedQuestion{ApprovalId(4), 1}});
  const auto answered = on(QuestionAnswered{ApprovalId(4), AnswerEffect::type, RunStatus::running, 1});
  ASSERT_NE(find<TypeAnswer>(answered), nullptr);
  ASSERT_TRUE(timer_in(on(AnswerTyped{4, false}), RunTimer::typing));
  EXPECT_NE(find<TypeAgain>(on(TimerFired{.timer = RunTimer::typing})), nullptr);
  on(PromptGone{1});
  const auto refused = on(AnswerTyped{4, false});
  ASSERT_NE(find<StoreTyped>(refused), nullptr);
  EXPECT_FALSE(find<StoreTyped>(refused)->is_typed);
  EXPECT_FALSE(state.typing);
}

// RUN-5
TEST_F(RunDecision, output_ends_a_stall) {
  on(RunBegun{});
  on(TimerFired{.timer = RunTimer::silence}, Milliseconds(150'000));
  const auto stalled = on(TimerFired{.timer = RunTimer::silence}, minutes(5));
  ASSERT_NE(find<StoreStatus>(stalled), nullptr);
  EXPECT_EQ(find<StoreStatus>(stalled)->to, RunStatus::stalled);
  on(StatusStored{true, RunStatus::stalled}, minutes(5));
  const auto output = on(OutputRead{.position = 5, .is_sign_of_life = true}, minutes(6));
  ASSERT_NE(find<StoreStatus>(output), nullptr);
  EXPECT_EQ(find<StoreStatus>(output)->to, RunStatus::running);
}

TEST_F(RunDecision, output_while_a_stall_is_being_stored_ends_it) {
  on(RunBegun{});
  on(TimerFired{.timer = RunTimer::silence}, Milliseconds(150'000));
  on(TimerFired{.timer = RunTimer::silence}, minutes(5));
  on(OutputRead{.position = 5, .is_sign_of_life = true}, minutes(5) + seconds(1));
  const auto stored = on(StatusStored{true, RunStatus::stalled}, minutes(5) + seconds(2));
  ASSERT_NE(find<StoreStatus>(stored), nullptr);
  EXPECT_EQ(find<StoreStatus>(stored)->to, RunStatus::running);
}

// RUN-7
TEST_F(RunDecision, plain_output_is_stored_once_a_second_and_effects_at_once) {
  const auto first = on(OutputRead{.position = 5, .is_sign_of_life = true}, Milliseconds(10));
  EXPECT_EQ(find<StoreNews>(first), nullptr);
  EXPECT_EQ(timer_in(first, RunTimer::news), start + seconds(1));
  EXPECT_NE(find<StoreNews>(on(OutputRead{.position = 9, .has_effect = true}, Milliseconds(20))), nullptr);
  on(NewsStored{.is_stored = true, .position = 9}, Milliseconds(30));
  EXPECT_NE(find<StoreNews>(on(OutputRead{.position = 2U << 20U, .is_sign_of_life = true}, Milliseconds(40))), nullptr)
      << "much output";
}

TEST_F(RunDecision, news_read_meanwhile_are_stored_afterwards) {
  on(OutputRead{.position = 5, .has_effect = true});
  EXPECT_EQ(find<StoreNews>(on(OutputRead{.position = 9, .has_effect = true})), nullptr);
  EXPECT_NE(find<StoreNews>(on(NewsStored{.is_stored = true, .position = 5})), nullptr);
}

// RUN-12: the end is stored after all output, once.
TEST_F(RunDecision, end_is_stored_after_the_output_and_its_pending_write) {
  on(OutputRead{.position = 5, .has_effect = true});
  EXPECT_NE(find<ReadRest>(on(ProcessExited{})), nullptr);
  EXPECT_EQ(find<StoreEnd>(on(OutputRead{.position = 9, .is_final = true})), nullptr) << "a write is in progress";
  EXPECT_NE(find<StoreEnd>(on(NewsStored{.is_stored = true, .position = 5})), nullptr);
  EXPECT_TRUE(timer_in(on(EndStored{false}), RunTimer::news));
  EXPECT_NE(find<StoreEnd>(on(TimerFired{.timer = RunTimer::news}, seconds(1))), nullptr);
  on(EndStored{true}, seconds(1));
  EXPECT_TRUE(std::holds_alternative<Finished>(state.phase));
  EXPECT_TRUE(on(EndRequested{{RunStatus::cancelled, "late", {}}, seconds(5)}, seconds(2)).empty());
}

// RUN-17
TEST_F(RunDecision, tool_that_reported_its_result_gets_a_grace_period) {
  const auto read = on(OutputRead{.position = 5, .has_effect = true, .has_result = true});
  EXPECT_EQ(timer_in(read, RunTimer::result), start + seconds(30));
  const auto fired = on(TimerFired{.timer = RunTimer::result}, seconds(30));
  ASSERT_NE(find<StoreEnding>(fired), nullptr);
  EXPECT_EQ(find<StoreEnding>(fired)->why.outcome, model::Outcome::did_not_exit);
}

// RUN-13
TEST_F(RunDecision, adopted_run_continues_what_the_last_daemon_began) {
  state.phase = Stopping{{RunStatus::cancelled, "cancelled by ana", {}}};
  EXPECT_NE(find<StopProcess>(on(RunAdopted{})), nullptr);
  state.phase = Alive{};
  state.clock = Paused{minutes(3)};
  EXPECT_EQ(timer_in(on(RunAdopted{}), RunTimer::deadline), start + minutes(3)) << "answered, clock not restarted";
  RunAdopted typed;
  typed.question = RunAdopted::LastQuestion{.id = ApprovalId(4), .must_be_typed = true, .prompt = 2};
  EXPECT_NE(find<TypeAnswer>(on(typed)), nullptr);
  EXPECT_NE(find<Recover>(on(KeeperLost{})), nullptr);
}

// RUN-3, RUN-5: a paused run has no deadline and does not stall, and continues with what was left.
TEST_F(RunDecision, pause_holds_both_clocks_and_is_stored_before_the_process_is_stopped) {
  on(RunBegun{});
  const auto asked = on(PauseRequested{}, minutes(10));
  EXPECT_TRUE(clears(asked, RunTimer::deadline));
  EXPECT_TRUE(clears(asked, RunTimer::silence));
  EXPECT_EQ(find<FreezeProcess>(asked), nullptr);
  ASSERT_NE(find<StorePause>(asked), nullptr);
  EXPECT_EQ(find<StorePause>(asked)->left, minutes(20));
  EXPECT_NE(find<FreezeProcess>(on(PauseStored{true}, minutes(10))), nullptr);
  EXPECT_TRUE(on(TimerFired{.timer = RunTimer::deadline}, minutes(50)).empty());
  EXPECT_EQ(time_left(state, start + minutes(50)), minutes(20));
  EXPECT_EQ(find<ThawProcess>(on(ResumeRequested{}, minutes(60))), nullptr);
  const auto resumed = on(ResumeStored{true}, minutes(60));
  EXPECT_NE(find<ThawProcess>(resumed), nullptr);
  EXPECT_EQ(timer_in(resumed, RunTimer::deadline), start + minutes(80));
  EXPECT_EQ(timer_in(resumed, RunTimer::silence), start + Milliseconds(minutes(60)) + Milliseconds(150'000));
}

// RUN-15
TEST_F(RunDecision, paused_run_can_be_cancelled) {
  on(RunBegun{});
  on(PauseRequested{});
  on(PauseStored{true});
  const auto cancelled = on(EndRequested{{RunStatus::cancelled, "cancelled", {}}, seconds(5)});
  ASSERT_NE(find<StoreEnding>(cancelled), nullptr);
  EXPECT_NE(find<StopProcess>(on(EndingStored{{RunStatus::cancelled, "cancelled", {}}, seconds(5), false, true})),
            nullptr);
}

TEST_F(RunDecision, pause_that_cannot_be_stored_changes_nothing) {
  on(RunBegun{});
  on(PauseRequested{}, minutes(10));
  const auto failed = on(PauseStored{false}, minutes(11));
  EXPECT_EQ(find<FreezeProcess>(failed), nullptr);
  EXPECT_EQ(timer_in(failed, RunTimer::deadline), start + minutes(31));
  EXPECT_TRUE(may_pause(state));
}

// RUN-13: the daemon that stored it may have died before it stopped the process, or continued it.
TEST_F(RunDecision, adopted_run_is_stopped_or_continued_as_the_store_says) {
  state.pause = RunPause::paused;
  state.clock = Paused{minutes(7)};
  const auto held = on(RunAdopted{});
  EXPECT_NE(find<FreezeProcess>(held), nullptr);
  EXPECT_EQ(find<ThawProcess>(held), nullptr);
  EXPECT_EQ(timer_in(held, RunTimer::deadline), std::nullopt);
  state.pause = RunPause::none;
  const auto continued = on(RunAdopted{});
  EXPECT_NE(find<ThawProcess>(continued), nullptr);
  EXPECT_EQ(timer_in(continued, RunTimer::deadline), start + minutes(7));
}

// APR-5: the answer arrives, but the clock and the terminal wait for the person who paused.
TEST_F(RunDecision, answer_to_a_paused_run_is_typed_when_it_continues) {
  on(RunBegun{});
  on(PromptShown{{.serial = 3}});
  ask(3);
  on(PauseRequested{}, minutes(11));
  on(PauseStored{true}, minutes(11));
  const auto answered =
      on(QuestionAnswered{.id = ApprovalId(1), .effect = AnswerEffect::type, .prompt = 3}, minutes(12));
  EXPECT_EQ(find<TypeAnswer>(answered), nullptr);
  EXPECT_EQ(timer_in(answered, RunTimer::deadline), std::nullopt);
  on(ResumeRequested{}, minutes(30));
  const auto resumed = on(ResumeStored{true}, minutes(30));
  ASSERT_NE(find<TypeAnswer>(resumed), nullptr);
  EXPECT_EQ(find<TypeAnswer>(resumed)->serial, 3U);
  EXPECT_EQ(timer_in(resumed, RunTimer::deadline), start + minutes(50));
}

// RUN-17
TEST_F(RunDecision, result_grace_does_not_run_while_paused) {
  on(RunBegun{});
  on(PauseRequested{});
  on(PauseStored{true});
  EXPECT_EQ(timer_in(on(OutputRead{.position = 10, .has_result = true}), RunTimer::result), std::nullopt);
  on(ResumeRequested{}, minutes(5));
  EXPECT_EQ(timer_in(on(ResumeStored{true}, minutes(5)), RunTimer::result), start + minutes(5) + seconds(30));
}

// RUN-3: the time that was used counts.
TEST_F(RunDecision, changed_timeout_counts_from_the_start) {
  state.terms.timeout = base::TimeLimit::of(minutes(30));
  on(RunBegun{});
  const LimitsRequested limits{.timeout = base::TimeLimit::of(minutes(120))};
  const auto asked = on(limits, minutes(10));
  ASSERT_NE(find<StoreLimits>(asked), nullptr);
  EXPECT_EQ(find<StoreLimits>(asked)->deadline, start + minutes(120));
  const auto stored = on(LimitsStored{limits, true}, minutes(10));
  EXPECT_EQ(timer_in(stored, RunTimer::deadline), start + minutes(120));
  const LimitsRequested off{.timeout = base::TimeLimit::off()};
  on(off, minutes(20));
  const auto removed = on(LimitsStored{off, true}, minutes(20));
  EXPECT_TRUE(clears(removed, RunTimer::deadline));
  EXPECT_EQ(time_left(state, start + minutes(20)), std::nullopt);
  // One that was off counts from now.
  on(limits, minutes(50));
  EXPECT_EQ(timer_in(on(LimitsStored{limits, true}, minutes(50)), RunTimer::deadline), start + minutes(170));
}

TEST_F(RunDecision, changed_timeout_of_a_paused_run_applies_when_it_continues) {
  state.terms.timeout = base::TimeLimit::of(minutes(30));
  on(RunBegun{});
  on(PauseRequested{}, minutes(10));
  on(PauseStored{true}, minutes(10));
  const LimitsRequested limits{.timeout = base::TimeLimit::of(minutes(60))};
  EXPECT_EQ(find<StoreLimits>(on(limits, minutes(20)))->left, minutes(50));
  EXPECT_EQ(timer_in(on(LimitsStored{limits, true}, minutes(20)), RunTimer::deadline), std::nullopt);
  on(ResumeRequested{}, minutes(100));
  EXPECT_EQ(timer_in(on(ResumeStored{true}, minutes(100)), RunTimer::deadline), start + minutes(150));
}

}  // namespace
}  // namespace reeve::engine
