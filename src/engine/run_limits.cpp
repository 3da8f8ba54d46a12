#include <fmt/format.h>

#include "base/quantity.h"
#include "engine/run_decider.h"

// Limits on an attempt's duration and silence (RUN-3, RUN-5, RUN-17), and its end from outside (RUN-4, RUN-15).
namespace reeve::engine {

namespace {

using model::RunStatus;
using std::chrono::seconds;

// Pause before a failed write to the store is tried again.
constexpr auto store_pause = seconds(1);

}  // namespace

void RunDecider::request_end(model::RunEnding why, base::Milliseconds grace, bool is_retried) {
  if (has_exited(state_)) return;
  if (auto* stopping = std::get_if<Stopping>(&state_.phase)) {
    // The first reason is kept; only the grace period may shrink.
    stopping->must_kill = stopping->must_kill || grace.count() == 0;
    if (stopping->is_stored && grace.count() == 0) act(StopProcess{grace});
    if (!stopping->is_stored && is_retried && !state_.unstored_ending) state_.unstored_ending = std::move(why);
    return;
  }
  state_.phase = Stopping{why, false, grace.count() == 0};
  act(StoreEnding{std::move(why), grace, is_retried});
}

void RunDecider::on(const EndRequested& event) { request_end(event.why, event.grace, false); }

void RunDecider::on(const EndingStored& event) {
  auto* stopping = std::get_if<Stopping>(&state_.phase);
  // Another reason was stored meanwhile.
  if (stopping != nullptr && stopping->is_stored) return;
  if (event.is_stored) {
    state_.unstored_ending.reset();
    if (stopping == nullptr) return;
    stopping->is_stored = true;
    return act(StopProcess{stopping->must_kill ? base::Milliseconds(0) : event.grace});
  }
  // The reason does not count, because nobody would know it after a crash.
  if (auto* exited = std::get_if<Exited>(&state_.phase)) {
    exited->why.reset();
    return;
  }
  state_.phase = Alive{};
  if (state_.pause == RunPause::paused) act(FreezeProcess{});
  if (event.is_retried) state_.unstored_ending = event.why;
  // A limit still applies, as soon as it can be stored.
  if (state_.unstored_ending) set_timer(RunTimer::ending, now_ + store_pause);
}

// RUN-3, RUN-5: both clocks stop while a question is open or a tool call waits.
void RunDecider::pause_clock() {
  if (const auto left = time_left(state_, now_)) state_.clock = Paused{*left};
  // A stored deadline would end the pause.
  state_.news.deadline.reset();
  clear_timer(RunTimer::deadline);
  clear_timer(RunTimer::silence);
  act(SendDeadline{});
}

void RunDecider::pause_clock_for_person() {
  pause_clock();
  // The deadline that is being stored would replace what was left, and the next daemon would count the wait.
  if (state_.news.is_storing_deadline) act(StoreTimeLeft{time_left(state_, now_)});
}

void RunDecider::resume_clock() {
  // While it is paused, its clocks stand still whatever its status is.
  if (has_exited(state_) || is_held(state_)) return;
  // Something else still waits.
  if (state_.question || !state_.waiting_calls.empty()) return;
  if (const auto* paused = std::get_if<Paused>(&state_.clock)) {
    const base::BootTime deadline = now_ + paused->left;
    state_.clock = Ticking{deadline};
    state_.news.deadline = deadline;
    state_.news.is_pending = true;
    act(SendDeadline{deadline});
    set_deadline_timer();
    store_news();
  }
  renew_silence();
}

void RunDecider::set_deadline_timer() {
  if (const auto* ticking = std::get_if<Ticking>(&state_.clock)) set_timer(RunTimer::deadline, ticking->deadline);
}

void RunDecider::await_exit_after_result() {
  state_.has_result = true;
  if (is_held(state_)) return;
  set_timer(RunTimer::result, now_ + state_.terms.result_grace);
}

void RunDecider::renew_silence() {
  state_.silence = {now_, {}};
  watch_silence();
}

void RunDecider::watch_silence() {
  const auto limit = state_.terms.no_output_timeout.after;
  if (limit && !is_held(state_)) set_timer(RunTimer::silence, state_.silence.since + *limit / 2);
}

void RunDecider::check_silence(const Activity& activity) {
  const auto limit = state_.terms.no_output_timeout.after;
  if (!limit || has_exited(state_) || waits_for_person(state_)) return;
  const StallDecision decision =
      check_stall(state_.terms.no_output_timeout, state_.terms.liveness, state_.silence, now_, activity);
  switch (decision.verdict) {
    case StallVerdict::wait:
      break;
    case StallVerdict::half_time:
      state_.silence.at_half = activity;
      // One warning until the next output: a silent but busy tool must not warn all day.
      if (std::exchange(state_.has_warned_of_silence, true)) break;
      act(StoreWarning{
          fmt::format("no output or heartbeat for {}, half of its limit", base::format_duration(*limit / 2))});
      break;
    case StallVerdict::at_work:
      state_.silence = {now_, {}};
      break;
    case StallVerdict::stalled:
      mark_stalled();
      break;
  }
  if (decision.look_again) set_timer(RunTimer::silence, *decision.look_again);
}

void RunDecider::mark_stalled() {
  const base::Milliseconds limit = *state_.terms.no_output_timeout.after;
  if (state_.terms.on_stall == model::OnStall::kill) {
    const auto silent_s = std::chrono::duration_cast<seconds>(limit).count();
    return end_by_itself({RunStatus::failed_timeout, fmt::format("no output or heartbeat for {} s", silent_s), {}});
  }
  const bool looks_at_activity = state_.terms.liveness == model::Liveness::activity;
  state_.stall_decided_at = now_;
  act(StoreStatus{.to = RunStatus::stalled,
                  .only_from = RunStatus::running,
                  .reason = fmt::format("no output or heartbeat{} for {}", looks_at_activity ? ", no CPU or I/O" : "",
                                        base::format_duration(limit))});
}

void RunDecider::mark_running() {
  // Not if it has asked a question meanwhile: then the answer sets it running.
  act(StoreStatus{.to = RunStatus::running, .only_from = RunStatus::stalled});
  watch_silence();
}

void RunDecider::on(const StatusStored& event) {
  if (has_exited(state_)) return;
  if (!event.is_stored) {
    if (!is_held(state_)) set_timer(RunTimer::silence, now_ + store_pause);
    return;
  }
  if (!event.status) return;
  state_.status = *event.status;
  // Output arrived while this was being stored.
  const bool spoke = state_.status == RunStatus::stalled && state_.silence.since > state_.stall_decided_at;
  if (spoke) mark_running();
}

}  // namespace reeve::engine
