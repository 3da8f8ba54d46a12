#include <algorithm>

#include "json/encode.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/live_run.h"

// Stores an attempt's output events and its end.
namespace reeve::runtime {

namespace {

using base::BootTime;
using model::RunStatus;
using std::chrono::seconds;

// RUN-7: at most this often if only timestamps changed, but sooner if much was read, because unstored output is read
// again after a crash.
constexpr auto news_pause = seconds(1);
constexpr std::uint64_t news_bytes = 1ULL << 20U;
// The first output is read at once, a continuous stream in batches, because each acknowledgement wakes three threads.
constexpr auto answer_pause = std::chrono::milliseconds(4);
constexpr std::size_t max_tool_errors = 100;
constexpr std::size_t max_questions = 64;

// Questions printed since the last time, asked in the transaction that stores the read position (APR-1, APR-9).
struct PrintedQuestions {
  std::size_t count = 0;
  // Further questions that were not kept.
  std::size_t dropped = 0;
  ledger::QuestionFrame frame;
  ledger::RunQuestion first;
  std::optional<std::chrono::seconds> expires_in;
  ledger::Asked result;

  ledger::Asked ask(ledger::Transaction& transaction, base::RunId run) const {
    if (count == 0) return {};
    ledger::RunQuestion question = first;
    question.approval = ledger::frame_question(transaction, frame, first.approval, expires_in);
    ledger::Asked asked = ledger::ask_for_run(transaction, run, std::move(question));
    const std::size_t refused = count + dropped - (asked.approval ? 1 : 0);
    if (asked.run && refused > 0) {
      ledger::record_refused_questions(transaction, *asked.run, refused, first.approval.question);
    }
    return asked;
  }
};

}  // namespace

void LiveRun::take(OutputBatch digest) {
  if (digest.feed != feed_) return;
  news_.out_offset = static_cast<std::int64_t>(digest.out_offset);
  news_.err_offset = static_cast<std::int64_t>(digest.err_offset);
  position_ = std::max(position_, digest.position);
  if (digest.last_output_at) news_.last_output_at = digest.last_output_at;
  if (digest.has_heartbeat) news_.last_heartbeat_at = context_.clock.wall_now();
  if (digest.has_failure_marker) start_.has_failure_marker = news_.has_failure_marker = true;
  // An error event takes precedence over a line that looks like one (RUN-7).
  has_error_event_ = has_error_event_ || digest.last_error;
  if (digest.last_error) {
    news_.last_error = digest.last_error;
  } else if (digest.error_line && !has_error_event_) {
    news_.last_error = digest.error_line;
  }
  if (digest.last_stderr_line) last_stderr_line_ = digest.last_stderr_line;
  if (digest.progress) news_.progress = digest.progress;
  if (digest.usage) {
    model::Usage& usage = start_.record.usage.emplace(start_.record.usage.value_or(model::Usage{}));
    usage.input_tokens += digest.usage->input_tokens;
    usage.output_tokens += digest.usage->output_tokens;
    if (digest.usage->cost_usd) usage.cost_usd = usage.cost_usd.value_or(0) + *digest.usage->cost_usd;
    news_.usage = usage;
  }
  if (start_.plan.may_ask) dropped_questions_ += digest.more_questions;
  for (Question& question : digest.questions) {
    if (!start_.plan.may_ask) break;
    if (questions_.size() < max_questions) {
      questions_.push_back(std::move(question));
    } else {
      ++dropped_questions_;
    }
  }
  for (const ToolUseError& error : digest.tool_errors) {
    if (start_.record.tool_errors.size() >= max_tool_errors) break;
    start_.record.tool_errors.push_back({error.tool, error.message});
    news_.tool_errors = start_.record.tool_errors;
  }
  if (digest.report && digest.report->kind == Report::Kind::result) {
    start_.has_result = true;
    news_.result = digest.report->data ? json::encode(*digest.report->data) : "null";
    await_exit_after_result();
  }
  const bool is_sign_of_life = digest.last_output_at || digest.has_heartbeat;
  if (is_sign_of_life) {
    has_news_ = true;
    has_warned_ = false;
    silence_ = {context_.loop.now(), {}};
    if (record().status == RunStatus::stalled) mark_running();
  }
  const bool has_effect = digest.has_effect();
  has_news_ = has_news_ || has_effect || digest.is_final;
  if (digest.is_final) {
    is_feed_final_ = true;
    store_end();
    return;
  }
  answer_growth();
  const bool is_due = context_.loop.now() - news_stored_at_ >= news_pause;
  // A small cap fills quickly: output must be stored before there is room again.
  const std::uint64_t much = std::min<std::uint64_t>(news_bytes, start_.plan.profile.output_cap.bytes / 4);
  if (has_effect || is_due || position_ - stored_position_ >= much) {
    store_news();
  } else if (has_news_ && !news_timer_) {
    news_timer_ = context_.loop.at(news_stored_at_ + news_pause, [this] {
      news_timer_ = {};
      store_news();
    });
  }
  events_.output();
}

void LiveRun::answer_growth() {
  if (!link_ || answer_timer_) return;
  const BootTime due = answered_at_ + answer_pause;
  if (context_.loop.now() >= due) {
    answered_at_ = context_.loop.now();
    link_->send(keeper::Consumed{stored_position_});
    return;
  }
  answer_timer_ = context_.loop.at(due, [this] {
    answer_timer_ = {};
    answer_growth();
  });
}

void LiveRun::store_news() {
  if (!has_news_ || is_storing_end_ || !storing_news_.begin()) return;
  has_news_ = false;
  news_timer_ = {};
  news_stored_at_ = context_.loop.now();
  const std::uint64_t position = position_;
  const base::RunId id = record().tool_run_id;
  // Asked in the transaction that stores the read position, so that a question is asked only once.
  auto asked = std::make_shared<PrintedQuestions>();
  asked->count = questions_.size();
  asked->dropped = dropped_questions_;
  if (asked->count > 0) {
    // A question that will be refused needs no digest from the disk.
    asked->frame = make_frame(!open_question_);
    asked->first = {.claim = claim(), .approval = make_approval(questions_.front()), .time_left_ms = time_left_ms()};
    asked->expires_in = questions_.front().expires_in;
  }
  ask_store(
      context_.ledger, context_.loop,
      [id, claim = claim(), news = news_, asked](ledger::Transaction& transaction) {
        if (!ledger::record_news(transaction, id, claim, news)) return false;
        asked->result = asked->ask(transaction, id);
        return true;
      },
      [this, alive = std::weak_ptr(alive_), position, news = news_, asked](std::expected<bool, base::Error> stored) {
        if (alive.expired()) return;
        const bool must_repeat = storing_news_.end();
        if (stored && *stored && asked->count > 0) {
          questions_.erase(questions_.begin(), questions_.begin() + static_cast<std::ptrdiff_t>(asked->count));
          dropped_questions_ -= asked->dropped;
          if (asked->result.approval) see_asked(asked->result, [](const auto&) {});
        }
        if (!stored || !*stored) {
          // Kept and retried: unstored output is not acknowledged, which eventually blocks the tool.
          has_news_ = true;
          if (is_feed_final_) return store_end();
          news_timer_ = context_.loop.at(context_.loop.now() + news_pause, [this] {
            news_timer_ = {};
            store_news();
          });
          return;
        }
        if (news_.deadline_ms == news.deadline_ms) news_.deadline_ms.reset();
        stored_position_ = position;
        context_.log.stored(record().tool_run_id, position);
        answer_growth();
        model::Run& run = start_.record;
        if (news.last_output_at) run.last_output_at = news.last_output_at;
        if (news.last_heartbeat_at) run.last_heartbeat_at = news.last_heartbeat_at;
        if (news.last_error) run.last_error = news.last_error;
        if (news.progress) run.progress = news.progress;
        if (is_feed_final_) return store_end();
        if (must_repeat) store_news();
      });
}

void LiveRun::store_end() {
  // A write in progress goes first: the end carries the final values.
  if (!exit_ || !is_feed_final_ || is_storing_end_ || storing_news_.is_running()) return;
  is_storing_end_ = true;
  context_.crash_point("run.before_tx_exit");
  AttemptEnd end{.run = record().tool_run_id, .claim = claim(), .record = *exit_, .ending = start_.ending};
  end.has_read_answer = has_read_answer_;
  end.has_failure_marker = start_.has_failure_marker;
  end.may_ask = start_.plan.may_ask;
  // Questions in its last output are asked before its end is evaluated.
  auto asked = std::make_shared<PrintedQuestions>();
  asked->count = questions_.size();
  asked->dropped = dropped_questions_;
  const bool may_ask = asked->count > 0 || exit_->code == engine::approval_exit_code;
  asked->frame = make_frame(may_ask && start_.plan.may_ask);
  if (asked->count > 0) {
    asked->first = {.claim = claim(), .approval = make_approval(questions_.front()), .time_left_ms = {}};
    asked->expires_in = questions_.front().expires_in;
  }
  // RUN-13: its keeper ended it because there was no daemon. Its output is stored; `on_interrupted` decides how it
  // continues.
  const bool is_given_up = exit_->ended_by == keeper::EndedBy::lease && !start_.ending;
  if (!has_error_event_ && !record().last_error && !news_.last_error) end.last_stderr_line = last_stderr_line_;
  ask_store(
      context_.ledger, context_.loop,
      [end, news = news_, asked, command = record().argv.empty() ? start_.plan.tool : record().argv.front(),
       cwd = start_.plan.cwd, is_given_up,
       &clock = context_.clock](ledger::Transaction& transaction) mutable -> StoredEnd {
        if (!ledger::record_news(transaction, end.run, end.claim, news)) return {};
        asked->result = asked->ask(transaction, end.run);
        if (is_given_up) return {};
        // Computed here, because this may have waited for the store.
        end.ended_ago = time_since_end(end.record, clock);
        return store_attempt_end(transaction, end, asked->frame, command, cwd);
      },
      [this, alive = std::weak_ptr(alive_), asked, is_given_up](std::expected<StoredEnd, base::Error> stored) {
        if (alive.expired()) return;
        if (!stored) {
          // Retried later: the exit record is in the run's folder.
          is_storing_end_ = false;
          news_timer_ = context_.loop.at(context_.loop.now() + news_pause, [this] { store_end(); });
          return;
        }
        if (is_given_up) return events_.given_up();
        context_.crash_point("run.after_tx_exit");
        context_.log.close(record().tool_run_id);
        if (stored->run) {
          start_.record = std::move(*stored->run);
          events_.changed(record());
        }
        if (asked->result.approval && stored->run) events_.asked(*asked->result.approval);
        if (stored->asked) events_.asked({.approval_id = *stored->asked});
        if (stored->granted) events_.granted(*stored->granted);
        events_.over();
      });
}

}  // namespace reeve::runtime
