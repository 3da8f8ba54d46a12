#include <utility>

#include <fmt/format.h>

#include "base/quantity.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/live_run.h"
#include "runtime/runs/run_files.h"

// What a person asks of a live attempt: to pause it, to let it continue, and to change its limits.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

// A keeper says what it can do as soon as it is connected.
constexpr base::Milliseconds keeper_pause(50);

std::optional<std::int64_t> count(const std::optional<base::Milliseconds>& time) {
  return time ? std::optional(time->count()) : std::nullopt;
}

// "timeout set to 2h, no-output timeout set to off by ana"
std::string describe(const engine::LimitsRequested& limits, const std::string& by) {
  std::string text;
  if (limits.timeout) text = fmt::format("timeout set to {}", base::format_time_limit(*limits.timeout));
  if (limits.no_output_timeout) {
    text += fmt::format("{}no-output timeout set to {}", text.empty() ? "" : ", ",
                        base::format_time_limit(*limits.no_output_timeout));
  }
  return fmt::format("{} by {}", text, by);
}

}  // namespace

Error LiveRun::not_running() const {
  return {ErrorCode::run_not_running,
          fmt::format("{} {}", record().tool_run_id.text(), has_exited() ? "has ended" : "is being ended")};
}

void LiveRun::pause(std::string by, Done done) {
  add_request({.kind = PersonRequest::Kind::pause, .by = std::move(by), .done = std::move(done)});
}

void LiveRun::resume(std::string by, Done done) {
  add_request({.kind = PersonRequest::Kind::resume, .by = std::move(by), .done = std::move(done)});
}

void LiveRun::limit(const engine::LimitsRequested& limits, const std::string& by, Done done) {
  add_request({.kind = PersonRequest::Kind::limit, .limits = limits, .by = by, .done = std::move(done)});
}

void LiveRun::add_request(PersonRequest request) {
  if (callers_.add(request)) return begin_request();
  request.done(std::unexpected(
      Error(ErrorCode::store_busy, fmt::format("too many requests for {} are waiting", record().tool_run_id.text()))));
}

void LiveRun::begin_request() {
  const PersonRequest* request = callers_.begin_next();
  if (request == nullptr) return;
  if (!engine::is_alive(state_)) return end_request(std::unexpected(not_running()));
  switch (request->kind) {
    case PersonRequest::Kind::pause:
      return begin_pause();
    case PersonRequest::Kind::resume:
      if (!engine::may_resume(state_)) return end_request(record());
      return handle(engine::ResumeRequested{});
    case PersonRequest::Kind::limit:
      if (auto error = find_limit_error(request->limits)) return end_request(std::unexpected(std::move(*error)));
      return handle(request->limits);
  }
}

void LiveRun::begin_pause() {
  if (!engine::is_alive(state_)) return end_request(std::unexpected(not_running()));
  if (!engine::may_pause(state_)) return end_request(record());
  const AttemptKeeper::Freezing freezing = keeper_.freezing();
  if (freezing == AttemptKeeper::Freezing::possible) return handle(engine::PauseRequested{});
  if (freezing == AttemptKeeper::Freezing::unknown) {
    return context_.loop.after(keeper_pause, [this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) begin_pause();
    });
  }
  end_request(std::unexpected(
      Error(ErrorCode::run_keeper_too_old,
            fmt::format("{} was started by an older version of Reeve, whose keeper cannot pause it",
                        record().tool_run_id.text()),
            fmt::format("let it run, or end it: reeve cancel {}. Runs that start from now on can be paused",
                        record().tool_run_id.text()))));
}

std::optional<Error> LiveRun::find_limit_error(const engine::LimitsRequested& limits) const {
  if (!limits.timeout) return std::nullopt;
  const auto left = engine::time_left_of(state_, *limits.timeout, context_.loop.now());
  if (!left || left->count() > 0) return std::nullopt;
  return Error(
      ErrorCode::run_limit_passed,
      fmt::format("{} has already run for longer than {}", record().tool_run_id.text(),
                  base::format_time_limit(*limits.timeout)),
      fmt::format("the time is counted from its start; to end it: reeve cancel {}", record().tool_run_id.text()));
}

void LiveRun::end_request(const std::expected<model::Run, Error>& result) {
  const Done done = callers_.end_current();
  const std::weak_ptr alive(alive_);
  done(result);
  if (!alive.expired()) begin_request();
}

void LiveRun::perform(const engine::FreezeProcess&) { keeper_.freeze(); }

void LiveRun::perform(const engine::ThawProcess&) {
  if (keeper_.thaw()) activity_.begin();
}

void LiveRun::perform(const engine::StorePause& action) {
  store_pausing({.is_paused = true, .by = callers_.current().by, .time_left_ms = count(action.left)});
}

void LiveRun::perform(const engine::StoreResume&) { store_pausing({.is_paused = false, .by = callers_.current().by}); }

void LiveRun::store_pausing(ledger::RunPausing pausing) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), pausing](ledger::Transaction& transaction) {
        return ledger::pause_run(transaction, id, claim, pausing);
      },
      [this, alive = std::weak_ptr(alive_), pausing](std::expected<std::optional<model::Run>, Error> stored) {
        if (alive.expired()) return;
        const bool is_stored = stored && *stored;
        if (is_stored) start_.record.paused_at = (*stored)->paused_at;
        if (pausing.is_paused) {
          handle(engine::PauseStored{is_stored});
        } else {
          handle(engine::ResumeStored{is_stored});
        }
        if (is_stored) report_(Changed{});
        if (!stored) return end_request(std::unexpected(stored.error()));
        if (!is_stored) return end_request(std::unexpected(not_running()));
        end_request(record());
      });
}

void LiveRun::perform(const engine::StoreTimeLeft& action) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), left = count(action.left)](ledger::Transaction& transaction) {
        ledger::hold_clock(transaction, id, claim, left);
      },
      [](auto) {});
}

void LiveRun::perform(const engine::StoreLimits& action) {
  model::ToolProfile profile = start_.plan.profile;
  if (action.limits.timeout) profile.timeout = *action.limits.timeout;
  if (action.limits.no_output_timeout) profile.no_output_timeout = *action.limits.no_output_timeout;
  ledger::RunLimiting limiting{.reason = describe(action.limits, callers_.current().by),
                               .time_left_ms = count(action.left)};
  if (action.deadline) {
    limiting.deadline_ms = std::chrono::duration_cast<base::Milliseconds>(action.deadline->time_since_epoch()).count();
  }
  const std::string folder = run_folder(context_, record().tool_run_id);
  using Stored = std::expected<std::optional<model::Run>, Error>;
  // The launch file says how further attempts start.
  const auto rewrite = [folder, profile] { rewrite_profile(folder, profile); };
  const auto settle = [folder, before = start_.plan.profile](const Stored& stored) {
    if (stored && *stored) return;
    try {
      rewrite_profile(folder, before);
    } catch (const Error&) {
      // A limit that was refused would count for the next attempt only.
    }
  };
  ask_store(context_.ledger, context_.loop,
            StoreSteps{.before = rewrite,
                       .work =
                           [id = record().tool_run_id, claim = claim(), limiting](ledger::Transaction& transaction) {
                             return ledger::limit_run(transaction, id, claim, limiting);
                           },
                       .after = settle},
            [this, alive = std::weak_ptr(alive_), action, profile](Stored stored) {
              if (alive.expired()) return;
              const bool is_stored = stored && *stored;
              if (is_stored) start_.plan.profile = profile;
              handle(engine::LimitsStored{action.limits, is_stored});
              if (!stored) return end_request(std::unexpected(stored.error()));
              if (!is_stored) return end_request(std::unexpected(not_running()));
              end_request(record());
            });
}

}  // namespace reeve::runtime
