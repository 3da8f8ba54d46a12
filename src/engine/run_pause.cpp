#include <utility>

#include "engine/run_decider.h"

// Pausing an attempt and letting it continue, and changing its limits while it runs.
namespace reeve::engine {

namespace {

// Whether the clock of the hard timeout stands still: the run is paused, or waits for a person.
bool stands_still(const RunState& state) {
  return is_held(state) || std::holds_alternative<Paused>(state.clock) || waits_for_person(state);
}

}  // namespace

void RunDecider::on(const PauseRequested&) {
  if (!may_pause(state_)) return;
  state_.pause = RunPause::storing;
  stop_clocks();
  act(StorePause{time_left(state_, now_)});
}

void RunDecider::on(const PauseStored& event) {
  if (state_.pause != RunPause::storing) return;
  if (!event.is_stored) return release();
  state_.pause = RunPause::paused;
  // A process that is being ended must be able to react.
  if (is_alive(state_)) act(FreezeProcess{});
}

void RunDecider::on(const ResumeRequested&) {
  if (!may_resume(state_)) return;
  state_.pause = RunPause::resuming;
  act(StoreResume{});
}

void RunDecider::on(const ResumeStored& event) {
  if (state_.pause != RunPause::resuming) return;
  if (!event.is_stored) {
    state_.pause = RunPause::paused;
    return;
  }
  act(ThawProcess{});
  release();
}

// The state says that the run is paused, and its process may not be stopped yet.
void RunDecider::hold() {
  stop_clocks();
  act(FreezeProcess{});
}

void RunDecider::stop_clocks() {
  pause_clock();
  clear_timer(RunTimer::result);
  clear_timer(RunTimer::typing);
}

void RunDecider::release() {
  state_.pause = RunPause::none;
  if (has_exited(state_)) return;
  if (!waits_for_person(state_)) resume_clock();
  if (state_.has_result) await_exit_after_result();
  if (state_.typing && state_.typing->deferred) {
    act(TypeAnswer{*std::exchange(state_.typing->deferred, std::nullopt), state_.typing->serial});
  } else if (state_.typing) {
    act(TypeAgain{});
  }
  handle_prompt();
}

void RunDecider::on(const LimitsRequested& event) {
  if (!is_alive(state_)) return;
  StoreLimits store{.limits = event, .deadline = {}, .left = {}};
  const auto left = time_left_of(state_, event.timeout.value_or(state_.terms.timeout), now_);
  if (stands_still(state_)) {
    store.left = left;
  } else if (left) {
    store.deadline = now_ + *left;
  }
  act(std::move(store));
}

void RunDecider::on(const LimitsStored& event) {
  if (!event.is_stored || has_exited(state_)) return;
  if (event.limits.timeout) {
    const auto left = time_left_of(state_, *event.limits.timeout, now_);
    state_.terms.timeout = *event.limits.timeout;
    state_.news.deadline.reset();
    if (!left) {
      state_.clock = Unlimited{};
    } else if (stands_still(state_)) {
      state_.clock = Paused{*left};
      // A question or a call that was being stored at the same time may have stored what was left before.
      act(StoreTimeLeft{left});
    } else {
      // Stored again if the clock has been started meanwhile.
      state_.clock = Paused{*left};
      clear_timer(RunTimer::deadline);
    }
    if (!left) {
      clear_timer(RunTimer::deadline);
      act(SendDeadline{});
      act(StoreTimeLeft{});
    }
  } else if (stands_still(state_)) {
    // As above: the deadline was stored with the other limit.
    act(StoreTimeLeft{time_left(state_, now_)});
  }
  if (event.limits.no_output_timeout) {
    state_.terms.no_output_timeout = *event.limits.no_output_timeout;
    state_.has_warned_of_silence = false;
    clear_timer(RunTimer::silence);
  }
  // Starts the clock again with what is left, and a new period of silence.
  if (!waits_for_person(state_)) resume_clock();
}

}  // namespace reeve::engine
