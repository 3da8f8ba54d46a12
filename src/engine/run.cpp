#include "engine/run.h"

#include <algorithm>

#include "engine/run_decider.h"

namespace reeve::engine {

std::vector<RunAction> decide(RunState& state, const RunEvent& event, base::BootTime now) {
  // Its end is stored: late results of other requests change nothing.
  if (std::holds_alternative<Finished>(state.phase)) return {};
  RunDecider decider(state, now);
  std::visit([&](const auto& happened) { decider.on(happened); }, event);
  return decider.take_actions();
}

bool has_exited(const RunState& state) noexcept {
  return std::holds_alternative<Exited>(state.phase) || std::holds_alternative<Finished>(state.phase);
}

bool is_alive(const RunState& state) noexcept { return std::holds_alternative<Alive>(state.phase); }

bool is_storing_ending(const RunState& state) noexcept {
  const auto* stopping = std::get_if<Stopping>(&state.phase);
  return stopping != nullptr && !stopping->is_stored;
}

bool awaits_answer(const RunState& state, base::ApprovalId id) noexcept {
  if (has_exited(state)) return false;
  if (state.waiting_calls.contains(id)) return true;
  // A tool that was answered may already have asked its next question.
  return !state.question || state.question->id == id;
}

bool waits_for_person(const RunState& state) noexcept {
  return state.question || !state.waiting_calls.empty() || state.status == model::RunStatus::waiting_approval;
}

std::optional<model::RunEnding> find_ending(const RunState& state) {
  if (const auto* stopping = std::get_if<Stopping>(&state.phase)) return stopping->why;
  if (const auto* exited = std::get_if<Exited>(&state.phase)) return exited->why;
  return std::nullopt;
}

std::optional<base::Milliseconds> time_left(const RunState& state, base::BootTime now) {
  if (const auto* paused = std::get_if<Paused>(&state.clock)) return paused->left;
  const auto* ticking = std::get_if<Ticking>(&state.clock);
  if (ticking == nullptr) return std::nullopt;
  return std::max(std::chrono::duration_cast<base::Milliseconds>(ticking->deadline - now), base::Milliseconds(0));
}

std::optional<base::Milliseconds> time_left_of(const RunState& state, base::TimeLimit timeout, base::BootTime now) {
  if (!timeout.after) return std::nullopt;
  const auto left = time_left(state, now);
  const auto limit = state.terms.timeout.after;
  const base::Milliseconds used = left && limit ? *limit - *left : base::Milliseconds(0);
  return std::max(*timeout.after - used, base::Milliseconds(0));
}

bool is_held(const RunState& state) noexcept { return state.pause != RunPause::none; }

bool may_pause(const RunState& state) noexcept { return is_alive(state) && state.pause == RunPause::none; }

bool may_resume(const RunState& state) noexcept { return is_alive(state) && state.pause == RunPause::paused; }

bool needs_activity(const RunState& state, base::BootTime now) {
  return state.terms.liveness == model::Liveness::activity && !waits_for_person(state) && !is_held(state) &&
         is_due(state.terms.no_output_timeout, state.silence, now);
}

void RunDecider::on(const RunBegun&) {
  if (is_held(state_)) return hold();
  set_deadline_timer();
  renew_silence();
}

void RunDecider::on(const RunAdopted& event) {
  state_.waiting_calls = event.waiting_calls;
  // The earlier daemon died when it had stored a deadline over what was left.
  const bool was_ticking = std::holds_alternative<Ticking>(state_.clock);
  const bool must_hold = was_ticking && (is_held(state_) || waits_for_person(state_));
  if (must_hold) act(StoreTimeLeft{time_left(state_, now_)});
  if (is_held(state_)) {
    hold();
  } else if (waits_for_person(state_)) {
    pause_clock();
  } else if (std::holds_alternative<Paused>(state_.clock)) {
    // What waited was answered, but the earlier daemon died before it restarted the clock.
    resume_clock();
  } else {
    set_deadline_timer();
    renew_silence();
  }
  // The earlier daemon may have died after it stored that the run continues.
  if (!is_held(state_)) act(ThawProcess{});
  if (event.question && event.question->is_pending) {
    state_.question = OpenQuestion{event.question->id, event.question->prompt};
  } else if (event.question && event.question->must_be_typed) {
    // The keeper remembers the number and types the answer only once.
    type_answer(event.question->id, event.question->prompt.value_or(0));
  }
  if (event.has_result) await_exit_after_result();
  // The earlier daemon died while it ended this run.
  if (std::holds_alternative<Stopping>(state_.phase)) act(StopProcess{state_.terms.kill_grace});
}

void RunDecider::on(const ProcessExited&) {
  if (has_exited(state_)) return;
  state_.phase = Exited{.why = find_ending(state_)};
  for (const RunTimer timer : {RunTimer::deadline, RunTimer::silence, RunTimer::result, RunTimer::ending,
                               RunTimer::typing, RunTimer::prompt}) {
    clear_timer(timer);
  }
  act(ReadRest{});
}

void RunDecider::on(const KeeperLost&) {
  if (!has_exited(state_)) act(Recover{});
}

void RunDecider::on(const TimerFired& event) {
  const bool is_limit =
      event.timer == RunTimer::deadline || event.timer == RunTimer::silence || event.timer == RunTimer::result;
  // It was set before the run was paused.
  if (is_limit && is_held(state_)) return;
  switch (event.timer) {
    case RunTimer::deadline:
      return end_by_itself({model::RunStatus::failed_timeout, "timeout", {}});
    case RunTimer::silence:
      return check_silence(event.activity);
    case RunTimer::result:
      return end_by_itself({model::RunStatus::completed, "", model::Outcome::did_not_exit});
    case RunTimer::news:
      state_.news.has_timer = false;
      if (has_exited(state_)) store_end();
      return store_news();
    case RunTimer::ending:
      if (auto why = std::exchange(state_.unstored_ending, std::nullopt)) end_by_itself(std::move(*why));
      return;
    case RunTimer::typing:
      if (state_.typing && !is_held(state_)) act(TypeAgain{});
      return;
    case RunTimer::prompt:
      return handle_prompt();
    case RunTimer::withdrawal:
      // The newest prompt that may have been withdrawn is the one that was asked about, unless it still stands: the
      // timer was set for an earlier question then.
      if (state_.question && state_.question->prompt &&
          !(state_.prompt && state_.prompt->serial == state_.question->prompt)) {
        withdraw_up_to(*state_.question->prompt);
      }
      return;
    case RunTimer::acknowledgement:
      state_.has_acknowledge_timer = false;
      return acknowledge();
  }
}

}  // namespace reeve::engine
