#include <utility>

#include <fmt/format.h>

#include "engine/run_exit.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/live_run.h"

// What an attempt stores: news from its output, its status, and its end.
namespace reeve::runtime {

namespace {

using base::Error;

// Questions printed since the last time, asked in the transaction that stores the read position, so that each is asked
// only once (APR-1, APR-9).
struct PrintedQuestions {
  std::size_t count = 0;
  // Further questions that were not kept.
  std::size_t dropped = 0;
  ledger::QuestionFrame frame = {};
  ledger::RunQuestion first = {};
  std::optional<std::chrono::seconds> expires_in = {};

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

struct StoredNews {
  // False if another attempt is current by now.
  bool is_stored = false;
  ledger::Asked asked = {};
};

}  // namespace

ledger::AttemptNews LiveRun::take_news() {
  ledger::AttemptNews news = news_.take_record();
  if (const auto& deadline = state_.news.deadline) {
    news.deadline_ms = std::chrono::duration_cast<base::Milliseconds>(deadline->time_since_epoch()).count();
  }
  return news;
}

void LiveRun::perform(const engine::StoreNews&) {
  const base::RunId id = record().tool_run_id;
  PrintedQuestions printed{.count = news_.questions().size(), .dropped = news_.dropped_questions()};
  if (printed.count > 0) {
    const Question& first = news_.questions().front();
    // A question that will be refused needs no digest from the disk.
    printed.frame = make_frame(!state_.question);
    printed.first = {.claim = claim(), .approval = make_approval(first), .time_left_ms = time_left_ms()};
    printed.expires_in = first.expires_in;
  }
  const ledger::AttemptNews news = take_news();
  ask_store(
      context_.ledger, context_.loop,
      [id, claim = claim(), news, printed](ledger::Transaction& transaction) -> StoredNews {
        if (!ledger::record_news(transaction, id, claim, news)) return {};
        return {true, printed.ask(transaction, id)};
      },
      [this, alive = std::weak_ptr(alive_), news, position = state_.news.position, deadline = state_.news.deadline,
       count = printed.count, dropped = printed.dropped](std::expected<StoredNews, Error> stored) {
        if (alive.expired()) return;
        engine::NewsStored event{.is_stored = stored && stored->is_stored, .position = position, .deadline = deadline};
        if (!event.is_stored) {
          news_.return_usage(news.added_usage);
          return handle(event);
        }
        if (count > 0) news_.forget_questions(count, dropped);
        context_.log.stored(record().tool_run_id, position);
        apply_news(news, start_.record);
        if (!stored->asked.approval) return handle(event);
        event.asked = engine::AskedQuestion{.id = stored->asked.approval->approval_id};
        set_status(*stored->asked.run);
        handle(event);
        report_(Changed{});
        report_(Asked{*stored->asked.approval});
      });
}

void LiveRun::perform(const engine::StoreEnd&) {
  context_.crash_point("run.before_tx_exit");
  AttemptEnd end{.run = record().tool_run_id,
                 .claim = claim(),
                 .record = *exit_,
                 .ending = engine::find_ending(state_),
                 .has_failure_marker = news_.has_failure_marker(),
                 .may_ask = start_.plan.may_ask,
                 .has_read_answer = state_.has_read_answer,
                 .last_stderr_line = news_.find_fallback_error(record())};
  // Questions in its last output are asked before its end is evaluated.
  PrintedQuestions printed{.count = news_.questions().size(), .dropped = news_.dropped_questions()};
  const bool may_ask = printed.count > 0 || exit_->code == engine::approval_exit_code;
  printed.frame = make_frame(may_ask && start_.plan.may_ask);
  if (printed.count > 0) {
    const Question& first = news_.questions().front();
    printed.first = {.claim = claim(), .approval = make_approval(first), .time_left_ms = {}};
    printed.expires_in = first.expires_in;
  }
  // RUN-13: its keeper ended it because there was no daemon. Its output is stored; `on_interrupted` decides how it
  // continues.
  const bool is_given_up = exit_->ended_by == keeper::EndedBy::lease && !end.ending;
  struct Stored {
    StoredEnd end = {};
    ledger::Asked asked = {};
  };
  const ledger::AttemptNews news = take_news();
  ask_store(
      context_.ledger, context_.loop,
      [end, news, printed, command = record().argv.empty() ? start_.plan.tool : record().argv.front(),
       cwd = start_.plan.cwd, is_given_up,
       &clock = context_.clock](ledger::Transaction& transaction) mutable -> Stored {
        if (!ledger::record_news(transaction, end.run, end.claim, news)) return {};
        Stored stored{.asked = printed.ask(transaction, end.run)};
        if (is_given_up) return stored;
        // Computed here, because this may have waited for the store.
        end.ended_ago = time_since_end(end.record, clock);
        stored.end = store_attempt_end(transaction, end, printed.frame, command, cwd);
        return stored;
      },
      [this, alive = std::weak_ptr(alive_), is_given_up, used = news.added_usage](std::expected<Stored, Error> stored) {
        if (alive.expired()) return;
        if (!stored) news_.return_usage(used);
        handle(engine::EndStored{.is_stored = stored.has_value()});
        if (!stored) return;
        if (is_given_up) return report_(GivenUp{});
        context_.crash_point("run.after_tx_exit");
        context_.log.close(record().tool_run_id);
        if (stored->end.run) {
          start_.record = std::move(*stored->end.run);
          report_(Changed{});
          if (stored->asked.approval) report_(Asked{*stored->asked.approval});
        }
        if (stored->end.asked) report_(Asked{{.approval_id = *stored->end.asked}});
        if (stored->end.granted) report_(Granted{*stored->end.granted});
        if (stored->end.is_released) report_(Released{});
        report_(Over{});
      });
}

void LiveRun::report_outcome(model::ReportedOutcome reported, Done done) {
  reported.reason = hide(reported.reason);
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), reported](ledger::Transaction& transaction) {
        return ledger::record_outcome(transaction, id, claim, reported);
      },
      [this, alive = std::weak_ptr(alive_), id = record().tool_run_id, done](std::expected<bool, Error> stored) {
        if (!stored) return done(std::unexpected(stored.error()));
        if (alive.expired() || !*stored) {
          return done(std::unexpected(
              Error(base::ErrorCode::run_not_running, fmt::format("the attempt of {} has ended", id.text()))));
        }
        on_tool_event(Heartbeat{});
        done(record());
      });
}

void LiveRun::perform(const engine::StoreEnding& action) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), text = ledger::encode_ending(action.why)](
          ledger::Transaction& transaction) { return ledger::record_ending(transaction, id, claim, text); },
      [this, alive = std::weak_ptr(alive_), action](std::expected<bool, Error> stored) {
        if (alive.expired()) return;
        handle(engine::EndingStored{action.why, action.grace, action.is_retried, stored.has_value()});
        for (const Done& done : callers_.take_end_waiters()) {
          if (stored) {
            done(record());
          } else {
            done(std::unexpected(stored.error()));
          }
        }
      });
}

void LiveRun::perform(const engine::StoreStatus& action) {
  const ledger::RunMove move{.to = action.to, .reason = action.reason, .only_from = action.only_from};
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), move](ledger::Transaction& transaction) {
        return ledger::move_run(transaction, id, move, claim);
      },
      [this, alive = std::weak_ptr(alive_)](std::expected<std::optional<model::Run>, Error> moved) {
        if (alive.expired() || engine::has_exited(state_)) return;
        const bool is_unreachable = !moved && moved.error().is_in(base::ErrorArea::store);
        engine::StatusStored event{.is_stored = !is_unreachable};
        if (moved && *moved) {
          set_status(**moved);
          event.status = (*moved)->status;
          report_(Changed{});
        }
        handle(event);
      });
}

void LiveRun::perform(const engine::StoreWarning& action) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), text = action.text](ledger::Transaction& transaction) {
        return ledger::warn_of_run(transaction, id, claim, text);
      },
      [](auto) {});
}

void LiveRun::perform(const engine::StoreTyped& action) {
  ask_store(
      context_.ledger, context_.loop,
      [action](ledger::Transaction& transaction) { ledger::record_typed(transaction, action.id, action.is_typed); },
      [](auto) {});
}

}  // namespace reeve::runtime
