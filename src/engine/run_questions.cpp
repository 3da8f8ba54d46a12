#include "engine/run_decider.h"

// Prompts on an attempt's terminal (RUN-10), its questions (APR-1, APR-9), and the effect of answers (APR-5, APR-8).
namespace reeve::engine {

namespace {

using model::RunStatus;

constexpr auto type_pause = std::chrono::milliseconds(100);
constexpr int max_tries = 20;
constexpr auto prompt_pause = std::chrono::seconds(1);
// Pause before a failed write to the store is tried again.
constexpr auto store_pause = std::chrono::seconds(1);

}  // namespace

void RunDecider::on(const PromptShown& event) {
  state_.prompt = event.prompt;
  handle_prompt();
}

void RunDecider::handle_prompt() {
  if (!state_.prompt) return;
  const std::uint32_t serial = state_.prompt->serial;
  const bool has_asked_about_older = state_.question && state_.question->prompt && *state_.question->prompt < serial;
  // The prompt that was asked about disappeared while no daemon was running.
  if (has_asked_about_older) return withdraw_up_to(serial - 1);
  // One question at a time: handled again when that one is answered.
  // A stopped process does not wait for anything: handled when it continues.
  if (!is_alive(state_) || is_held(state_) || state_.asking > 0 || state_.question) return;
  // Its answer is being typed: handled again if that fails.
  if (state_.typing && state_.typing->serial == serial) return;
  act(ReadScreen{*state_.prompt});
}

void RunDecider::handle_prompt_later() { set_timer(RunTimer::prompt, now_ + prompt_pause); }

void RunDecider::on(const ScreenRead& event) {
  const bool stands = state_.prompt && state_.prompt->serial == event.serial;
  if (!stands || !is_alive(state_) || is_held(state_) || state_.asking > 0 || state_.question) return;
  const TerminalPrompt prompt = *state_.prompt;
  if (!prompt.is_certain && !event.looks_like_question && !prompt.is_secret) {
    if (std::exchange(state_.has_warned_of_prompt, true)) return;
    return act(StoreWarning{"it may be waiting for input at its terminal; `reeve attach` shows it"});
  }
  switch (state_.terms.on_prompt) {
    case model::PromptAction::fail:
      end_by_itself({RunStatus::failed, "blocked on stdin", {}});
      act(StoreWarning{"it waits for input at its terminal: this profile is not safe for headless use"});
      break;
    case model::PromptAction::answer:
      state_.typing = TypingAnswer{prompt.serial, prompt.serial};
      act(TypeFixedAnswer{prompt.serial});
      break;
    case model::PromptAction::approve:
      ++state_.asking;
      act(AskAtTerminal{prompt});
      break;
  }
}

void RunDecider::on(const PromptGone& event) {
  if (state_.prompt && state_.prompt->serial <= event.serial) state_.prompt.reset();
  withdraw_up_to(event.serial);
}

// The question about a prompt needs no answer once the prompt is gone.
void RunDecider::withdraw_up_to(std::uint32_t serial) {
  const bool is_gone = state_.question && state_.question->prompt && *state_.question->prompt <= serial;
  if (is_gone) act(WithdrawQuestion{state_.question->id, serial});
}

void RunDecider::on(const QuestionWithdrawn& event) {
  if (!state_.question || state_.question->id != event.id) return;
  if (!event.is_stored) return set_timer(RunTimer::withdrawal, now_ + store_pause);
  // Decided at the same moment: the answer has its own event.
  if (!event.status) return;
  state_.question.reset();
  state_.status = *event.status;
  resume_clock();
  handle_prompt();
}

void RunDecider::on(const QuestionSubmitted&) { ++state_.asking; }

void RunDecider::on(const QuestionStored& event) {
  --state_.asking;
  if (event.asked) on_asked(*event.asked);
  // A prompt may have appeared meanwhile, or asking about it failed.
  if (!state_.question) handle_prompt_later();
}

void RunDecider::on_asked(const AskedQuestion& asked) {
  state_.status = RunStatus::waiting_approval;
  state_.question = OpenQuestion{asked.id, asked.prompt};
  pause_clock_for_person();
  // The prompt disappeared while the question was being stored.
  const bool stands = !asked.prompt || (state_.prompt && state_.prompt->serial == *asked.prompt);
  if (!stands) withdraw_up_to(*asked.prompt);
}

void RunDecider::on(const QuestionAnswered& event) {
  if (!awaits_answer(state_, event.id)) return;
  if (state_.waiting_calls.contains(event.id)) return on(CallAnswered{event.id, event.status});
  state_.question.reset();
  state_.status = event.status;
  switch (event.effect) {
    case AnswerEffect::resume:
      resume_clock();
      // Tool calls that wait do not keep it from asking.
      if (state_.status == RunStatus::running || !state_.waiting_calls.empty()) handle_prompt();
      break;
    case AnswerEffect::type:
      resume_clock();
      type_answer(event.id, event.prompt.value_or(0));
      break;
    case AnswerEffect::end_process:
      // Stored with the answer, unless there was a reason before.
      if (const auto* stopping = std::get_if<Stopping>(&state_.phase); stopping == nullptr || !stopping->is_stored) {
        state_.phase = Stopping{{RunStatus::failed, "approval expired", {}}};
      }
      act(StopProcess{state_.terms.kill_grace});
      break;
    case AnswerEffect::none:
      break;
  }
}

void RunDecider::type_answer(base::ApprovalId id, std::uint32_t serial) {
  state_.typing = TypingAnswer{static_cast<std::uint64_t>(id.number()), serial};
  // Typed when the run continues, because a stopped process shows no prompt.
  if (is_held(state_)) {
    state_.typing->deferred = id;
    return;
  }
  act(TypeAnswer{id, serial});
}

void RunDecider::on(const AnswerRead&) { state_.has_read_answer = true; }

void RunDecider::on(const AnswerUnusable& event) {
  state_.typing.reset();
  act(StoreWarning{"the answer contained nothing to type; nothing was typed"});
  act(StoreTyped{event.id, false});
  handle_prompt();
}

void RunDecider::on(const AnswerTyped& event) {
  const bool is_expected = state_.typing && state_.typing->number == event.number;
  // The tool may just have been busy: tried again while the prompt is still there.
  const bool may_retry = !event.is_typed && is_expected && state_.prompt &&
                         state_.prompt->serial == state_.typing->serial && ++state_.typing->tries < max_tries;
  // While it is paused nothing is typed: tried again when it continues.
  const bool must_keep = !event.is_typed && is_expected && is_held(state_);
  if (must_keep) return;
  if (may_retry) return set_timer(RunTimer::typing, now_ + type_pause);
  if (is_expected) state_.typing.reset();
  if (state_.terms.on_prompt == model::PromptAction::approve) {
    if (!event.is_typed) act(StoreWarning{"the prompt was gone when the answer arrived; nothing was typed"});
    act(StoreTyped{base::ApprovalId(static_cast<std::int64_t>(event.number)), event.is_typed});
  }
  // The prompt has no answer now, so it is handled again.
  if (!event.is_typed) handle_prompt_later();
}

}  // namespace reeve::engine
