#include <algorithm>

#include "engine/run_decider.h"

// When an attempt's output and end are stored (RUN-7), and how much its keeper may report.
namespace reeve::engine {

namespace {

// RUN-7: at most this often if only timestamps changed, but sooner if much was read.
constexpr auto news_pause = std::chrono::seconds(1);
// The first output is read at once, a continuous stream in batches, because each acknowledgement wakes three threads.
constexpr auto acknowledge_pause = std::chrono::milliseconds(4);

}  // namespace

void RunDecider::on(const OutputRead& event) {
  UnstoredNews& news = state_.news;
  news.position = std::max(news.position, event.position);
  if (event.has_result) await_exit_after_result();
  if (event.is_sign_of_life) {
    state_.has_warned_of_silence = false;
    state_.silence = {now_, {}};
    if (state_.status == model::RunStatus::stalled) mark_running();
  }
  news.is_pending = news.is_pending || event.is_sign_of_life || event.has_effect || event.is_final;
  if (event.is_final) {
    if (auto* exited = std::get_if<Exited>(&state_.phase)) exited->is_output_read = true;
    return store_end();
  }
  acknowledge();
  const bool is_due = now_ - news.stored_at >= news_pause;
  if (event.has_effect || is_due || news.position - news.stored_position >= state_.terms.unstored_bytes) {
    store_news();
  } else if (news.is_pending && !news.has_timer) {
    news.has_timer = true;
    set_timer(RunTimer::news, news.stored_at + news_pause);
  }
}

void RunDecider::acknowledge() {
  if (state_.has_acknowledge_timer) return;
  const base::BootTime due = state_.acknowledged_at + acknowledge_pause;
  if (now_ >= due) {
    state_.acknowledged_at = now_;
    return act(Acknowledge{});
  }
  state_.has_acknowledge_timer = true;
  set_timer(RunTimer::acknowledgement, due);
}

void RunDecider::store_news() {
  UnstoredNews& news = state_.news;
  const auto* exited = std::get_if<Exited>(&state_.phase);
  // The end carries the final values.
  if (!news.is_pending || (exited != nullptr && exited->is_storing)) return;
  if (news.is_storing) {
    news.must_repeat = true;
    return;
  }
  news.is_storing = true;
  news.is_storing_deadline = news.deadline.has_value();
  news.is_pending = false;
  news.has_timer = false;
  news.stored_at = now_;
  clear_timer(RunTimer::news);
  act(StoreNews{});
}

void RunDecider::on(const NewsStored& event) {
  UnstoredNews& news = state_.news;
  news.is_storing = news.is_storing_deadline = false;
  const bool must_repeat = std::exchange(news.must_repeat, false);
  if (event.asked) on_asked(*event.asked);
  const auto* exited = std::get_if<Exited>(&state_.phase);
  const bool is_last = exited != nullptr && exited->is_output_read;
  if (!event.is_stored) {
    // Kept and tried again: unstored output is not acknowledged, which eventually blocks the tool.
    news.is_pending = true;
    if (is_last) return store_end();
    news.has_timer = true;
    return set_timer(RunTimer::news, now_ + news_pause);
  }
  if (news.deadline == event.deadline) news.deadline.reset();
  news.stored_position = event.position;
  acknowledge();
  if (is_last) return store_end();
  if (must_repeat) store_news();
}

void RunDecider::store_end() {
  auto* exited = std::get_if<Exited>(&state_.phase);
  // A write in progress goes first.
  const bool may_store = exited != nullptr && exited->is_output_read && !exited->is_storing && !state_.news.is_storing;
  if (!may_store) return;
  exited->is_storing = true;
  act(StoreEnd{});
}

void RunDecider::on(const EndStored& event) {
  auto* exited = std::get_if<Exited>(&state_.phase);
  if (exited == nullptr) return;
  if (event.is_stored) {
    state_.phase = Finished{};
    return;
  }
  // Tried again: the exit record is in the run's folder.
  exited->is_storing = false;
  state_.news.has_timer = true;
  set_timer(RunTimer::news, now_ + news_pause);
}

}  // namespace reeve::engine
