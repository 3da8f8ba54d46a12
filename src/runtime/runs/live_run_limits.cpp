#include <fmt/format.h>

#include "base/text.h"
#include "os/tree.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/live_run.h"

// Limits on an attempt's duration and silence (RUN-3, RUN-5, RUN-17).
namespace reeve::runtime {

namespace {

using base::BootTime;
using model::RunStatus;
using std::chrono::seconds;

// Pause before a failed write to the store is retried.
constexpr auto store_pause = seconds(1);

}  // namespace

// RUN-17.
void LiveRun::await_exit_after_result() {
  result_timer_ = context_.loop.at(context_.loop.now() + start_.plan.profile.result_grace,
                                   [this] { end_by_itself({RunStatus::completed, "", model::Outcome::did_not_exit}); });
}

void LiveRun::end_by_itself(Ending ending) {
  end(ending, start_.plan.profile.kill_grace, [this, alive = std::weak_ptr(alive_), ending](const auto& ended) {
    if (alive.expired() || ended || exit_) return;
    // The store is unreachable: the limit still applies, as soon as it can be recorded.
    end_timer_ = context_.loop.at(context_.loop.now() + store_pause, [this, ending] { end_by_itself(ending); });
  });
}

void LiveRun::set_deadline_timer() {
  if (!start_.deadline) return;
  deadline_timer_ =
      context_.loop.at(*start_.deadline, [this] { end_by_itself({RunStatus::failed_timeout, "timeout", {}}); });
}

void LiveRun::renew_silence() {
  silence_ = {context_.loop.now(), {}};
  const auto limit = start_.plan.profile.no_output_timeout.after;
  if (limit) watch_silence(silence_.since + *limit / 2);
}

void LiveRun::watch_silence(BootTime when) {
  silence_timer_ = context_.loop.at(when, [this] { look_at_silence(); });
}

void LiveRun::look_at_silence() {
  if (record().status == RunStatus::waiting_approval) return;
  const model::ToolProfile& profile = start_.plan.profile;
  const BootTime now = context_.loop.now();
  engine::Activity seen;
  if (profile.liveness == model::Liveness::activity && engine::is_due(profile.no_output_timeout, silence_, now)) {
    const os::TreeActivity activity = os::measure_activity(start_.keeper_pid);
    seen = {activity.cpu, activity.io_bytes};
  }
  const engine::StallDecision decision =
      engine::check_stall(profile.no_output_timeout, profile.liveness, silence_, now, seen);
  const std::string limit = base::format_duration(*profile.no_output_timeout.after);
  switch (decision.verdict) {
    case engine::StallVerdict::wait:
      break;
    case engine::StallVerdict::half_time: {
      silence_.at_half = seen;
      // One warning until the next output: a silent but busy tool must not warn all day.
      if (std::exchange(has_warned_, true)) break;
      const std::string reason = fmt::format("no output or heartbeat for {}, half of its limit",
                                             base::format_duration(*profile.no_output_timeout.after / 2));
      warn(reason);
      break;
    }
    case engine::StallVerdict::at_work:
      silence_ = {now, {}};
      break;
    case engine::StallVerdict::stalled:
      mark_stalled(limit);
      break;
  }
  if (decision.look_again) watch_silence(*decision.look_again);
}

void LiveRun::warn(const std::string& reason) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), reason](ledger::Transaction& transaction) {
        return ledger::warn_of_run(transaction, id, claim, reason);
      },
      [](auto) {});
}

void LiveRun::mark_stalled(const std::string& limit) {
  const model::ToolProfile& profile = start_.plan.profile;
  const auto silent_s = std::chrono::duration_cast<seconds>(*profile.no_output_timeout.after).count();
  if (profile.on_stall == model::OnStall::kill) {
    end_by_itself({RunStatus::failed_timeout, fmt::format("no output or heartbeat for {} s", silent_s), {}});
    return;
  }
  const bool looks_at_activity = profile.liveness == model::Liveness::activity;
  stall_decided_at_ = context_.loop.now();
  move({.to = RunStatus::stalled,
        .reason = fmt::format("no output or heartbeat{} for {}", looks_at_activity ? ", no CPU or I/O" : "", limit),
        .only_from = RunStatus::running});
}

void LiveRun::mark_running() {
  // Not if it has asked a question meanwhile: then the answer sets it running.
  move({.to = RunStatus::running, .only_from = RunStatus::stalled});
  const auto limit = start_.plan.profile.no_output_timeout.after;
  if (limit) watch_silence(silence_.since + *limit / 2);
}

void LiveRun::move(ledger::RunMove move) {
  ask_store(
      context_.ledger, context_.loop,
      [id = record().tool_run_id, claim = claim(), move](ledger::Transaction& transaction) {
        return ledger::move_run(transaction, id, move, claim);
      },
      [this, alive = std::weak_ptr(alive_)](std::expected<std::optional<model::Run>, base::Error> moved) {
        if (alive.expired() || exit_) return;
        if (!moved && moved.error().code().starts_with("store.")) {
          silence_timer_ = context_.loop.at(context_.loop.now() + store_pause, [this] { look_at_silence(); });
        }
        if (!moved || !*moved) return;
        start_.record.status = (*moved)->status;
        start_.record.reason = (*moved)->reason;
        events_.changed(record());
        // Output arrived while this was being stored.
        const bool spoke = record().status == RunStatus::stalled && silence_.since > stall_decided_at_;
        if (spoke) mark_running();
      });
}

}  // namespace reeve::runtime
