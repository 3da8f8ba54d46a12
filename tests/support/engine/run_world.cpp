#include "tests/support/engine/run_world.h"

#include <iterator>
#include <utility>

namespace reeve::testing {

using namespace engine;  // NOLINT: every event and action
using base::ApprovalId;
using model::RunStatus;

RunWorld::RunWorld(base::Random& random, RunTerms terms) : random_(random), terms_(terms) {
  terms_.timeout = base::TimeLimit::of(std::chrono::minutes(30));
  store_.deadline = now_ + std::chrono::minutes(30);
  state_ = restore();
  handle(RunBegun{});
}

void RunWorld::check(bool holds, const std::string& what) {
  if (!holds && violation_.empty()) violation_ = what;
}

void RunWorld::handle(const RunEvent& event) {
  events_.push_back(event);
  if (std::exchange(is_handling_, true)) return;
  while (!events_.empty()) {
    const RunEvent next = events_.front();
    events_.pop_front();
    const bool was_finished = std::holds_alternative<Finished>(state_.phase);
    const auto actions = decide(state_, next, now_);
    check(!was_finished || actions.empty(), "acts after its end");
    for (const RunAction& action : actions) std::visit([this](const auto& one) { perform(one); }, action);
  }
  is_handling_ = false;
  if (!store_.is_over) check_state();
}

void RunWorld::check_state() {
  const bool is_ticking = std::holds_alternative<Ticking>(state_.clock);
  const bool has_timer = timers_.contains(RunTimer::deadline);
  // RUN-3: the clock is paused while a question is open, and runs otherwise.
  check(!state_.question || !is_ticking, "the clock runs while a question is open");
  check(!state_.question || !has_timer, "the deadline applies while a question is open");
  // RUN-3: also while any number of tool calls wait, and never longer.
  const bool has_calls = !state_.waiting_calls.empty();
  check(!has_calls || !is_ticking, "the clock runs while a call waits");
  check(!has_calls || !has_timer, "the deadline applies while a call waits");
  check(!has_calls || waits_for_person(state_), "a call waits for nobody");
  const bool is_timed = is_ticking && is_alive(state_);
  check(!is_timed || has_timer || state_.unstored_ending, "no timer for the deadline");
  // RUN-3, RUN-5, RUN-17: nothing runs out while a person has paused it.
  const bool has_limit = has_timer || timers_.contains(RunTimer::silence) || timers_.contains(RunTimer::result);
  check(!is_held(state_) || !is_ticking, "the clock runs while the run is paused");
  check(!is_held(state_) || !is_alive(state_) || !has_limit, "a limit applies while the run is paused");
  const bool is_quiet = requests_.empty() && is_alive(state_) && keeper_.is_alive;
  check(!is_quiet || keeper_.is_frozen == store_.is_paused, "the process is not as the store says");
  const bool stands_still = std::holds_alternative<Paused>(state_.clock);
  check(!is_quiet || is_held(state_) || is_waiting() || !stands_still, "the clock stands still and nothing waits");
  check(!is_quiet || state_.waiting_calls == find_waiting_calls(), "the calls that wait are not those in the store");
  // Otherwise the next daemon would count the time of the wait.
  const bool is_exact = is_quiet && !has_lost_time_left_ && !state_.news.is_pending;
  check(!is_exact || !is_waiting() || !store_.deadline, "a deadline is stored while something waits");
  check(state_.asking >= 0, "more questions were stored than submitted");
  check(state_.news.stored_position <= state_.news.position, "more was stored than read");
}

void RunWorld::step() {
  if (store_.is_over) return;
  now_ += base::Milliseconds(random_.below(200));
  switch (random_.below(8)) {
    case 0:
    case 1:
      return answer_store();
    case 2:
    case 3:
      return deliver();
    case 4:
      return fire_timer();
    case 5:
      return act_as_person();
    case 6:
      if (chance(6)) return crash();
      [[fallthrough]];
    default:
      return act_as_tool();
  }
}

bool RunWorld::settle() {
  is_settling_ = true;
  constexpr int max_steps = 20'000;
  for (int i = 0; i < max_steps && !(store_.is_over && requests_.empty()) && violation_.empty(); ++i) {
    now_ += base::Milliseconds(50);
    if (!store_.is_over && is_waiting() && chance(4)) act_as_person();
    if (store_.is_paused && chance(4)) handle(ResumeRequested{});
    if (!keeper_.has_exit_record && chance(20)) exit_tool();
    answer_store();
    deliver();
    fire_timer();
  }
  check(store_.is_over, "the run never ends");
  return violation_.empty();
}

void RunWorld::answer_store() {
  if (requests_.empty()) return;
  const Request next = std::move(requests_.front());
  requests_.pop_front();
  const bool is_stored = is_settling_ || !chance(5);
  if (!is_stored) ++coverage_.failed_writes;
  next(is_stored);
}

void RunWorld::deliver() {
  if (keeper_.messages.empty()) return;
  const RunEvent next = keeper_.messages.front();
  keeper_.messages.pop_front();
  handle(next);
}

void RunWorld::fire_timer() {
  if (timers_.empty()) return;
  auto first = timers_.begin();
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second < first->second) first = at;
  }
  // Limits of minutes are reached too.
  if (first->second > now_ && !chance(4)) return;
  now_ = std::max(now_, first->second);
  const RunTimer timer = first->first;
  const bool is_limit = timer == RunTimer::deadline || timer == RunTimer::silence || timer == RunTimer::result;
  check(!is_limit || !is_held(state_) || !is_alive(state_), "a limit is reached while the run is paused");
  timers_.erase(first);
  handle(TimerFired{.timer = timer});
}

void RunWorld::act_as_tool() {
  if (keeper_.has_exit_record) return;
  // Stopped: it can only be killed from outside.
  if (keeper_.is_frozen) {
    if (chance(12)) exit_tool();
    return;
  }
  switch (random_.below(14)) {
    case 0:
      return exit_tool();
    case 12:
    case 13:
      return call();
    case 1:
    case 2:
      return show_prompt();
    case 3:
      if (keeper_.prompt) keeper_.messages.emplace_back(PromptGone{*std::exchange(keeper_.prompt, std::nullopt)});
      return;
    case 4:
      // A question on its socket.
      if (!is_alive(state_)) return;
      handle(QuestionSubmitted{});
      return request([this, daemon = daemon_, left = time_left(state_, now_)](bool is_stored) {
        QuestionStored result;
        if (const auto id = is_stored ? store_question({}, left) : std::nullopt) result.asked = AskedQuestion{*id, {}};
        if (daemon == daemon_) handle(result);
      });
    case 5:
      // A printed question.
      keeper_.written += 50;
      has_printed_ = true;
      return handle(OutputRead{.position = keeper_.written, .is_sign_of_life = true, .has_effect = true});
    case 6:
      if (!chance(10)) return;
      return handle(OutputRead{.position = keeper_.written, .has_effect = true, .has_result = true});
    case 7:
      if (!chance(10)) return;
      // Its keeper is killed.
      keeper_.is_alive = false;
      keeper_.has_exit_record = false;
      return handle(KeeperLost{});
    default:
      keeper_.written += random_.below(600'000);
      return handle(OutputRead{.position = keeper_.written, .is_sign_of_life = true});
  }
}

void RunWorld::show_prompt() {
  keeper_.prompt = ++keeper_.last_serial;
  keeper_.messages.emplace_back(PromptShown{{.serial = *keeper_.prompt, .is_certain = chance(2)}});
}

void RunWorld::exit_tool() {
  keeper_.prompt.reset();
  keeper_.has_exit_record = true;
  keeper_.is_alive = false;
  keeper_.messages.emplace_back(ProcessExited{});
}

// Pauses it, lets it continue, or changes its limits.
bool RunWorld::change_course() {
  if (is_settling_) return false;
  if (chance(16)) {
    ++coverage_.pauses;
    handle(PauseRequested{});
    return true;
  }
  if (store_.is_paused && chance(3)) {
    handle(ResumeRequested{});
    return true;
  }
  if (!chance(12)) return false;
  ++coverage_.limits;
  LimitsRequested limits;
  if (chance(2)) limits.timeout = chance(3) ? base::TimeLimit::off() : base::TimeLimit::of(std::chrono::minutes(40));
  if (chance(2)) limits.no_output_timeout = base::TimeLimit::of(std::chrono::minutes(2));
  handle(limits);
  return true;
}

void RunWorld::act_as_person() {
  if (change_course()) return;
  if (chance(12) && !is_settling_) {
    // Cancels.
    return handle(EndRequested{{RunStatus::cancelled, "cancelled", {}},
                               chance(3) ? base::Milliseconds(0) : base::Milliseconds(5'000)});
  }
  const auto id = find_pending();
  if (!id || chance(2)) {
    if (answer_call() || !id) return;
  }
  StoredQuestion& question = store_.questions.at(*id);
  question.decision = chance(6) ? Decision::expired : Decision::approved;
  const RunStatus status = is_waiting() ? RunStatus::waiting_approval : RunStatus::running;
  QuestionAnswered answered{.id = *id, .status = status, .prompt = question.prompt};
  if (question.decision == Decision::expired) {
    answered.effect = AnswerEffect::end_process;
    if (!store_.ending) store_.ending = model::RunEnding{RunStatus::failed, "approval expired", {}};
  } else {
    answered.effect = question.prompt ? AnswerEffect::type : AnswerEffect::resume;
  }
  move(status);
  handle(answered);
}

// Up to four at a time; each is stored before it waits.
void RunWorld::call() {
  constexpr std::size_t max_calls = 4;
  if (!is_alive(state_) || is_settling_) return;
  request([this, daemon = daemon_, left = time_left(state_, now_)](bool is_stored) {
    if (!is_stored || store_.is_over || find_waiting_calls().size() >= max_calls) return;
    if (is_waiting()) ++coverage_.parallel;
    const ApprovalId id(next_id_++);
    store_.calls.emplace(id, true);
    move(RunStatus::waiting_approval);
    hold_clock(left);
    ++coverage_.calls;
    if (daemon == daemon_) handle(CallWaits{id});
  });
}

// Any of those that wait; false if none does.
bool RunWorld::answer_call() {
  const std::set<ApprovalId> waiting = find_waiting_calls();
  if (waiting.empty()) return false;
  const ApprovalId id = *std::next(waiting.begin(), static_cast<std::ptrdiff_t>(random_.below(waiting.size())));
  store_.calls.at(id) = false;
  const RunStatus status = is_waiting() ? RunStatus::waiting_approval : RunStatus::running;
  move(status);
  handle(CallAnswered{id, status});
  return true;
}

// Another daemon starts at once. Requests that were sent may be committed or not.
void RunWorld::crash() {
  ++coverage_.crashes;
  ++daemon_;
  while (!requests_.empty() && chance(2)) answer_store();
  requests_.clear();
  timers_.clear();
  events_.clear();
  keeper_.messages.clear();
  has_printed_ = false;
  sent_answer_.reset();
  if (!store_.is_over) recover();
}

void RunWorld::recover() {
  const RecoveryFacts facts{.is_same_boot = true,
                            .is_held = keeper_.is_alive,
                            .is_connected = keeper_.is_alive,
                            .is_marked = true,
                            .has_exit = keeper_.has_exit_record,
                            .must_end = store_.ending.has_value(),
                            .has_launch = true,
                            .starts = 0,
                            .max_starts = 3,
                            .has_paused = true};
  switch (decide_recovery(facts)) {
    case RecoveryAction::finish:
      state_ = restore();
      return handle(ProcessExited{});
    case RecoveryAction::adopt:
      return begin_daemon();
    case RecoveryAction::interrupt:
    case RecoveryAction::finish_ending:
      check(!keeper_.is_alive, "a live run is declared lost");
      // What follows is another attempt, or none.
      store_.is_over = true;
      return;
    case RecoveryAction::start:
    case RecoveryAction::pause_and_start:
      return check(false, "a started attempt is started again");
    case RecoveryAction::look_again:
    case RecoveryAction::give_up:
      return check(false, "a started attempt is treated as never started");
  }
}

void RunWorld::begin_daemon() {
  state_ = restore();
  RunAdopted adopted{.question = {}, .waiting_calls = find_waiting_calls()};
  if (!store_.questions.empty()) {
    const auto& [id, question] = *store_.questions.rbegin();
    adopted.question =
        RunAdopted::LastQuestion{.id = id,
                                 .is_pending = question.decision == Decision::pending,
                                 .must_be_typed = question.prompt && question.decision == Decision::approved,
                                 .prompt = question.prompt};
  }
  // The keeper repeats the prompt that is on its terminal.
  if (keeper_.prompt) keeper_.messages.emplace_back(PromptShown{{.serial = *keeper_.prompt}});
  handle(adopted);
}

RunState RunWorld::restore() const {
  RunState state;
  state.terms = terms_;
  state.status = store_.status;
  if (store_.ending) state.phase = Stopping{*store_.ending};
  if (store_.left) {
    state.clock = Paused{*store_.left};
  } else if (store_.deadline) {
    state.clock = Ticking{*store_.deadline};
  }
  if (store_.is_paused) state.pause = RunPause::paused;
  state.silence.since = now_;
  state.news.position = state.news.stored_position = store_.position;
  state.news.stored_at = now_;
  return state;
}

// RUN-2
void RunWorld::move(RunStatus to) {
  if (store_.status == to) return;
  check(model::can_move(store_.status, to), "illegal move");
  store_.status = to;
}

std::optional<ApprovalId> RunWorld::find_pending() const {
  for (const auto& [id, question] : store_.questions) {
    if (question.decision == Decision::pending) return id;
  }
  return std::nullopt;
}

std::set<ApprovalId> RunWorld::find_waiting_calls() const {
  std::set<ApprovalId> found;
  for (const auto& [id, waits] : store_.calls) {
    if (waits) found.insert(id);
  }
  return found;
}

void RunWorld::hold_clock(std::optional<base::Milliseconds> left) {
  store_.left = left;
  store_.deadline.reset();
  has_lost_time_left_ = false;
}

std::optional<ApprovalId> RunWorld::store_question(std::optional<std::uint32_t> prompt,
                                                   std::optional<base::Milliseconds> left) {
  // APR-9
  if (store_.is_over || find_pending()) return std::nullopt;
  const ApprovalId id(next_id_++);
  store_.questions.emplace(id, StoredQuestion{.prompt = prompt});
  move(RunStatus::waiting_approval);
  hold_clock(left);
  ++coverage_.questions;
  return id;
}

void RunWorld::perform(const SetTimer& action) { timers_.insert_or_assign(action.timer, action.when); }

void RunWorld::perform(const ClearTimer& action) { timers_.erase(action.timer); }

void RunWorld::perform(const StoreNews&) {
  request([this, daemon = daemon_, position = state_.news.position, deadline = state_.news.deadline,
           asks = std::exchange(has_printed_, false), left = time_left(state_, now_)](bool is_stored) {
    NewsStored result{.is_stored = is_stored && !store_.is_over, .position = position, .deadline = deadline};
    if (result.is_stored) {
      check(position >= store_.position, "read positions go back");
      store_.position = position;
      if (deadline) {
        store_.deadline = deadline;
        store_.left.reset();
      }
      if (asks) {
        if (const auto id = store_question({}, left)) result.asked = AskedQuestion{*id, {}};
      }
    } else if (daemon == daemon_) {
      has_printed_ = has_printed_ || asks;
    }
    if (daemon == daemon_) handle(result);
  });
}

void RunWorld::perform(const StoreEnd&) {
  request([this, daemon = daemon_, ending = find_ending(state_)](bool is_stored) {
    if (is_stored && !store_.is_over) {
      check(keeper_.has_exit_record, "the end of a live process is stored");
      store_.is_over = true;
      ++coverage_.ends;
      // Its calls are withdrawn, or the run waits for them.
      const bool is_released = !find_waiting_calls().empty() && !ending && chance(2);
      if (!find_pending() && !is_released) move(ending ? ending->status : RunStatus::completed);
    }
    if (daemon == daemon_) handle(EndStored{is_stored});
  });
}

void RunWorld::perform(const StoreEnding& action) {
  request([this, daemon = daemon_, action](bool is_stored) {
    if (is_stored && !store_.ending) store_.ending = action.why;
    if (daemon == daemon_) handle(EndingStored{action.why, action.grace, action.is_retried, is_stored});
  });
}

void RunWorld::perform(const StoreStatus& action) {
  request([this, daemon = daemon_, action](bool is_stored) {
    StatusStored result{.is_stored = is_stored};
    if (is_stored && !store_.is_over && store_.status == action.only_from) {
      move(action.to);
      result.status = action.to;
      if (action.to == RunStatus::stalled) ++coverage_.stalls;
    }
    if (daemon == daemon_) handle(result);
  });
}

void RunWorld::perform(const WithdrawQuestion& action) {
  request([this, daemon = daemon_, action](bool is_stored) {
    QuestionWithdrawn result{.id = action.id, .serial = action.serial, .is_stored = is_stored};
    StoredQuestion& question = store_.questions.at(action.id);
    if (is_stored && !store_.is_over && question.decision == Decision::pending) {
      check(keeper_.prompt != question.prompt, "a question whose prompt is on screen is withdrawn");
      question.decision = Decision::expired;
      result.status = is_waiting() ? RunStatus::waiting_approval : RunStatus::running;
      move(*result.status);
    }
    if (daemon == daemon_) handle(result);
  });
}

void RunWorld::perform(const ReadScreen& action) { handle(ScreenRead{action.prompt.serial, chance(2)}); }

void RunWorld::perform(const AskAtTerminal& action) {
  request([this, daemon = daemon_, serial = action.prompt.serial, left = time_left(state_, now_)](bool is_stored) {
    QuestionStored result;
    if (const auto id = is_stored ? store_question(serial, left) : std::nullopt) {
      result.asked = AskedQuestion{*id, serial};
    }
    if (daemon == daemon_) handle(result);
  });
}

void RunWorld::perform(const TypeAnswer& action) {
  check(!is_held(state_), "an answer is typed while the run is paused");
  const auto found = store_.questions.find(action.id);
  check(found != store_.questions.end() && found->second.decision == Decision::approved, "types an unapproved answer");
  sent_answer_ = {static_cast<std::uint64_t>(action.id.number()), action.serial};
  perform(TypeAgain{});
}

void RunWorld::perform(const TypeFixedAnswer& action) {
  sent_answer_ = {action.serial, action.serial};
  perform(TypeAgain{});
}

// The keeper types an answer once, and only into the prompt it is for (keeper/message.h).
void RunWorld::perform(const TypeAgain&) {
  check(!is_held(state_), "something is typed while the run is paused");
  if (!keeper_.is_alive || !sent_answer_) return;
  const auto [number, serial] = *sent_answer_;
  const bool is_repeated = number == keeper_.last_typed;
  const bool is_typed = number > keeper_.last_typed && keeper_.prompt == serial && !chance(4);
  if (is_typed) {
    check(typed_.insert(number).second, "an answer is typed twice");
    keeper_.last_typed = number;
    ++coverage_.typed;
    keeper_.messages.emplace_back(PromptGone{*std::exchange(keeper_.prompt, std::nullopt)});
  }
  keeper_.messages.emplace_back(AnswerTyped{number, is_typed || is_repeated});
}

void RunWorld::perform(const StorePause& action) {
  request([this, daemon = daemon_, action](bool is_stored) {
    const bool is_done = is_stored && !store_.is_over;
    if (is_done) {
      store_.is_paused = true;
      store_.left = action.left;
      store_.deadline.reset();
    }
    if (daemon == daemon_) handle(PauseStored{is_done});
  });
}

void RunWorld::perform(const StoreResume&) {
  request([this, daemon = daemon_](bool is_stored) {
    const bool is_done = is_stored && !store_.is_over;
    if (is_done) store_.is_paused = false;
    if (daemon == daemon_) handle(ResumeStored{is_done});
  });
}

void RunWorld::perform(const StoreTimeLeft& action) {
  request([this, action](bool is_stored) {
    has_lost_time_left_ = !is_stored;
    if (is_stored) hold_clock(action.left);
  });
}

void RunWorld::perform(const StoreLimits& action) {
  request([this, daemon = daemon_, action](bool is_stored) {
    const bool is_done = is_stored && !store_.is_over;
    if (is_done) {
      if (action.limits.timeout) terms_.timeout = *action.limits.timeout;
      if (action.limits.no_output_timeout) terms_.no_output_timeout = *action.limits.no_output_timeout;
      store_.deadline = action.deadline;
      store_.left = action.left;
    }
    if (daemon == daemon_) handle(LimitsStored{action.limits, is_done});
  });
}

void RunWorld::perform(const FreezeProcess&) {
  // Otherwise the next daemon would not know that it is stopped.
  check(store_.is_paused, "the process is stopped for a pause that is not stored");
  if (keeper_.is_alive) keeper_.is_frozen = true;
}

void RunWorld::perform(const ThawProcess&) {
  check(!store_.is_paused, "the process continues although the store says that it is paused");
  keeper_.is_frozen = false;
}

void RunWorld::perform(const StopProcess&) {
  // RUN-4: nothing is done to the process for a reason that would be unknown after a crash.
  check(store_.ending.has_value(), "the process is stopped for a reason that is not stored");
  ++coverage_.stops;
  // SIGCONT follows SIGTERM.
  keeper_.is_frozen = false;
  if (!keeper_.has_exit_record && chance(2)) exit_tool();
}

void RunWorld::perform(const ReadRest&) {
  check(keeper_.has_exit_record, "the rest is read before the process exits");
  handle(OutputRead{.position = keeper_.written, .is_final = true});
}

void RunWorld::perform(const Recover&) {
  // The supervisor drops the run, then examines it as after a restart.
  ++daemon_;
  events_.clear();
  timers_.clear();
  while (!requests_.empty()) answer_store();
  keeper_.messages.clear();
  if (!store_.is_over) recover();
}

}  // namespace reeve::testing
