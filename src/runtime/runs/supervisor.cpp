#include "runtime/runs/supervisor.h"

#include <array>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/beneath.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/stdin_file.h"
#include "store/runs.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using model::Run;

std::optional<std::int64_t> deadline_ms(const std::optional<base::BootTime>& deadline) {
  if (!deadline) return std::nullopt;
  return std::chrono::duration_cast<base::Milliseconds>(deadline->time_since_epoch()).count();
}

}  // namespace

std::optional<base::BootTime> Supervisor::deadline_for(const RunPlan& plan) const {
  const auto limit = plan.profile.timeout.after;
  return limit ? std::optional(context_.loop.now() + *limit) : std::nullopt;
}

ledger::AttemptStart Supervisor::make_attempt(const ledger::KeeperIdentity& keeper,
                                              const std::optional<base::BootTime>& deadline) const {
  return {.daemon = context_.daemon, .keeper = keeper, .nonce = make_nonce(), .deadline_ms = deadline_ms(deadline)};
}

std::size_t Supervisor::count_places() const { return runs_.size() + lookers_.size() + *places_taken_; }

std::shared_ptr<void> Supervisor::find_place() const {
  if (count_places() >= context_.descriptors.max_runs) return nullptr;
  ++*places_taken_;
  return {places_taken_.get(), [taken = places_taken_](void*) { --*taken; }};
}

void Supervisor::take_keeper(KeeperPool::Taken taken) {
  // Runs that are already alive take precedence over new ones.
  const std::size_t alive = count_places() + unadopted_.size();
  auto place = alive < context_.descriptors.max_runs ? find_place() : nullptr;
  if (!place) return taken(std::unexpected(no_descriptors(context_.descriptors, alive)));
  auto terms = ledger::RequestTerms::current();
  context_.keepers.take([place, terms, taken = std::move(taken)](std::expected<IdleKeeper, Error> keeper) {
    const ledger::RequestTerms::Scope scope(terms);
    if (keeper) keeper->place = place;
    taken(std::move(keeper));
  });
}

void Supervisor::start(RunPlan plan, std::optional<Idempotency> idempotency, RunAnswer answer) {
  start(std::move(plan), StartTerms{.idempotency = std::move(idempotency)}, std::move(answer));
}

void Supervisor::start(RunPlan plan, Along along, RunAnswer answer) {
  start(std::move(plan), StartTerms{.along = std::move(along)}, std::move(answer));
}

void Supervisor::start(RunPlan plan, StartTerms terms, RunAnswer answer) {
  if (context_.refusal) {
    context_.loop.post([answer = std::move(answer), error = *context_.refusal] { answer(std::unexpected(error)); });
    return;
  }
  if (plan.is_queued) return enqueue(std::move(plan), std::move(terms), std::move(answer));
  auto shared = std::make_shared<RunPlan>(std::move(plan));
  take_keeper(
      [this, shared, terms = std::move(terms), answer = std::move(answer)](std::expected<IdleKeeper, Error> keeper) {
        if (!keeper) {
          answer(std::unexpected(keeper.error()));
          return;
        }
        start_with(std::move(*shared), terms, std::move(*keeper), answer);
      });
}

void Supervisor::start_with(RunPlan plan, StartTerms terms, IdleKeeper keeper, RunAnswer answer) {
  struct Stored {
    Run record;
    bool is_new = true;
  };
  const std::optional<base::BootTime> deadline = deadline_for(plan);
  const ledger::AttemptStart attempt = make_attempt(keeper.identity, deadline);
  auto kept = std::make_shared<IdleKeeper>(std::move(keeper));
  auto shared = std::make_shared<const RunPlan>(std::move(plan));
  const auto store = [shared, attempt, terms = std::move(terms)](ledger::Transaction& transaction) -> Stored {
    const auto answered = find_answer(transaction, terms.idempotency);
    const auto before = answered ? base::RunId::parse(*answered) : std::nullopt;
    if (before) {
      if (auto found = store::find_run(transaction.session(), *before)) return {std::move(found->run), false};
    }
    const base::RunId id = ledger::create_run(transaction, make_run(*shared), shared->rerun);
    ledger::begin_attempt(transaction, id, attempt);
    terms.along(transaction, id);
    Run record = store::find_run(transaction.session(), id).value().run;
    if (terms.idempotency) {
      remember_answer(transaction, terms.idempotency, id.text(), json::encode(json::to_value(record)));
    }
    return {std::move(record)};
  };
  const std::string runs = context_.folder.runs().string();
  ask_store(context_.ledger, context_.loop,
            StoreSteps{.before = [runs, shared, nonce = attempt.nonce] { draft_run(runs, nonce, *shared); },
                       .work = store,
                       .after =
                           [runs, nonce = attempt.nonce](const std::expected<Stored, Error>& stored) {
                             if (stored && stored->is_new) {
                               name_run(runs, nonce, stored->record.tool_run_id);
                             } else if (stored || !stored.error().is(ErrorCode::store_unknown_outcome)) {
                               drop_draft(runs, nonce);
                             }
                           }},
            [this, kept, shared, attempt, deadline, answer](std::expected<Stored, Error> stored) {
              if (!stored) {
                answer(std::unexpected(stored.error()));
                return;
              }
              if (!stored->is_new) {
                answer(std::move(stored->record));
                return;
              }
              context_.crash_point("run.after_tx_spawned");
              const Run record = stored->record;
              LiveRun& live = add({.record = record,
                                   .claim = {record.attempt, attempt.epoch},
                                   .nonce = attempt.nonce,
                                   .plan = *shared,
                                   .keeper_pid = static_cast<pid_t>(kept->identity.pid),
                                   .deadline = deadline});
              live.begin(std::move(kept->link));
              answer(record);
              tell_changed(record);
            });
}

LiveRun& Supervisor::add(LiveRun::Start start) {
  const base::RunId id = start.record.tool_run_id;
  if (start.plan.has_stdin) start.input = stdin_.begin_attempt(id);
  auto live = std::make_unique<LiveRun>(context_, std::move(start),
                                        [this, id](const LiveRun::Report& report) { on_report(id, report); });
  LiveRun& added = *runs_.insert_or_assign(id, std::move(live)).first->second;
  lifetime_hooks_.open(id);
  context_.inbox.post(RunLive{id});
  return added;
}

void Supervisor::on_report(base::RunId id, const LiveRun::Report& report) {
  if (std::holds_alternative<LiveRun::Changed>(report)) {
    tell_changed(find(id)->record());
  } else if (std::holds_alternative<LiveRun::OutputGrew>(report)) {
    tell_followers(id);
  } else if (const auto* read = std::get_if<LiveRun::StdinRead>(&report)) {
    stdin_.on_read(id, read->position);
  } else if (const auto* asked = std::get_if<LiveRun::Asked>(&report)) {
    context_.inbox.post(QuestionAsked{asked->approval});
  } else if (const auto* granted = std::get_if<LiveRun::Granted>(&report)) {
    // Posted like the rest: they remove the run that reports.
    context_.loop.post([this, id, grant = granted->grant] { resume(id, grant); });
  } else if (std::holds_alternative<LiveRun::Released>(report)) {
    context_.loop.post([this, id] { resume(id); });
  } else if (std::holds_alternative<LiveRun::Over>(report)) {
    context_.loop.post([this, id] { forget(id); });
  } else if (std::holds_alternative<LiveRun::Lost>(report)) {
    context_.loop.post([this, id] { lose(id); });
  } else if (std::holds_alternative<LiveRun::GivenUp>(report)) {
    context_.loop.post([this, id] { take_given_up(id); });
  }
}

// Its keeper disappeared: examine it as after a restart.
void Supervisor::lose(base::RunId run) {
  context_.log.close(run);
  remove(run);
  ask_store(
      context_.ledger, context_.loop,
      [run](ledger::Transaction& transaction) { return find_attempts(transaction, run); },
      [this, run](std::expected<std::vector<Found>, Error> found) {
        // The next daemon, which starts at once, will read it.
        if (!found) throw found.error();
        for (Found& one : *found) recover_one(std::move(one), [this, run] { tell_followers(run); });
      });
}

void Supervisor::remove(base::RunId run) {
  lifetime_hooks_.close(run);
  runs_.erase(run);
  following_.erase(run);
  stdin_.end_attempt(run);
  perform_late_cancels(run);
}

void Supervisor::perform_late_cancels(base::RunId run) {
  const auto [first, last] = late_cancels_.equal_range(run);
  std::vector<Loop::Task> cancels;
  for (auto at = first; at != last; ++at) cancels.push_back(std::move(at->second));
  late_cancels_.erase(first, last);
  for (const Loop::Task& cancel : cancels) cancel();
}

LiveRun* Supervisor::find(base::RunId run) noexcept {
  const auto found = runs_.find(run);
  return found != runs_.end() ? found->second.get() : nullptr;
}

std::optional<base::RunId> Supervisor::find_held_by(pid_t keeper) const noexcept {
  for (const auto& [id, live] : runs_) {
    if (live->keeper_pid() == keeper) return id;
  }
  for (const auto& [id, pid] : unadopted_) {
    if (pid == keeper) return id;
  }
  return std::nullopt;
}

void Supervisor::on_output_read(OutputBatch batch) {
  LiveRun* live = find(batch.run);
  if (live != nullptr && live->claim().attempt == batch.attempt) live->on_output(std::move(batch));
}

void Supervisor::renew_leases() {
  for (const auto& [_, live] : runs_) live->renew_lease();
}

void Supervisor::tell_changed(const Run& run) {
  const auto told = waiters_.take(run.tool_run_id, [&](const Waiter& waiter) {
    return is_final(run.status) ||
           (!waiter.wait.through_approvals && run.status == model::RunStatus::waiting_approval) ||
           (!waiter.wait.through_queue && run.status != model::RunStatus::queued);
  });
  if (is_final(run.status)) clean_up(run.tool_run_id);
  note_waiting(run);
  if (queue_.on_status(run.tool_run_id, run.status)) context_.inbox.post(SlotsFreed{});
  for (const Waiter& waiter : told) waiter.over(run);
  context_.inbox.post(RunChanged{run});
}

void Supervisor::note_waiting(const Run& run) {
  if (run.status == model::RunStatus::waiting_approval) {
    waiting_.insert_or_assign(run.tool_run_id, run.node_id.has_value());
  } else {
    waiting_.erase(run.tool_run_id);
  }
}

void Supervisor::poll_ended() {
  if (waiting_.empty() || context_.loop.now() < next_poll_) return;
  next_poll_ = context_.loop.now() + context_.supervision.poll_interval;
  std::vector<base::RunId> left;
  for (const auto& [run, _] : waiting_) {
    // A run with a process ends when the process does.
    if (!runs_.contains(run)) left.push_back(run);
  }
  ask_store(
      context_.ledger, context_.loop,
      [left](ledger::Transaction& transaction) {
        std::vector<Run> over;
        for (const base::RunId id : left) {
          auto found = store::find_run(transaction.session(), id);
          if (found && is_final(found->run.status)) over.push_back(std::move(found->run));
        }
        return over;
      },
      [this](const std::expected<std::vector<Run>, Error>& over) {
        if (!over) return;
        for (const Run& run : *over) {
          // It may have been reported meanwhile.
          if (waiting_.contains(run.tool_run_id)) tell_changed(run);
        }
      });
}

std::vector<base::RunId> Supervisor::find_runs_of_nodes() const {
  std::vector<base::RunId> found;
  for (const auto& [id, live] : runs_) {
    if (live->record().node_id) found.push_back(id);
  }
  for (const auto& [id, is_of_node] : waiting_) {
    if (is_of_node && !runs_.contains(id)) found.push_back(id);
  }
  return found;
}

void Supervisor::forget(base::RunId run) {
  remove(run);
  starts_.erase(run);
  tell_followers(run);
}

void Supervisor::after(base::Milliseconds pause, Loop::Task task) {
  context_.loop.after(pause, [alive = std::weak_ptr(alive_), task = std::move(task)] {
    if (!alive.expired()) task();
  });
}

void Supervisor::tell_followers(base::RunId run) {
  for (const auto& more : followers_.find(run)) more();
}

// Removes files that are needed only while a run may still be started (DESIGN: the launch contains its environment).
void Supervisor::clean_up(base::RunId run) {
  const fs::path folder = run_folder(context_, run);
  std::error_code error;
  if (stdin_.is_empty(run)) note_empty_stdin(folder.string());
  fs::remove(folder / keeper::stdin_name, error);
  stdin_.close(run);
  fs::remove(folder / keeper::prompt_name, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(fingerprint_file({})) || is_draft(name)) fs::remove(entry.path(), error);
  }
  // Last: where it is left, the next daemon cleans up.
  fs::remove(folder / keeper::launch_name, error);
}

Loop::Hold Supervisor::wait(Wait wait, std::function<void(const Run&)> over) {
  return waiters_.add(wait.run, Waiter{wait, std::move(over)});
}

Loop::Hold Supervisor::follow_output(base::RunId run, std::function<void()> more) {
  return followers_.add(run, std::move(more));
}

void Supervisor::cancel(base::RunId run, Cancellation cancellation, RunAnswer answer) {
  std::string reason = fmt::format("cancelled by {}", cancellation.by);
  if (cancellation.reason) reason += ": " + *cancellation.reason;
  LiveRun* live = find(run);
  // It may be about to wait for an approval: decided when its end is stored. Or it is being started.
  if ((live != nullptr && live->has_exited()) || taken_.contains(run)) {
    late_cancels_.emplace(run, [this, run, cancellation, answer, terms = ledger::RequestTerms::current()] {
      const ledger::RequestTerms::Scope scope(terms);
      cancel(run, cancellation, answer);
    });
    return;
  }
  if (live != nullptr) {
    const auto grace = cancellation.kill ? base::Milliseconds(0) : live->plan().profile.kill_grace;
    live->end({model::RunStatus::cancelled, reason, {}}, grace, std::move(answer));
    return;
  }
  // The run is queued or waits for an answer: there is no process to end.
  ask_store(
      context_.ledger, context_.loop,
      [run, reason](ledger::Transaction& transaction) {
        const auto found = store::find_run(transaction.session(), run);
        if (found && is_final(found->run.status)) {
          throw Error(ErrorCode::run_not_running,
                      fmt::format("{} is already {}. Nothing changed.", run.text(), base::spell(found->run.status)));
        }
        const bool has_process = found && found->run.status != model::RunStatus::queued &&
                                 found->run.status != model::RunStatus::waiting_approval;
        if (has_process) {
          throw Error(ErrorCode::run_not_here, fmt::format("{} is not managed by this daemon right now", run.text()),
                      "it is being taken over or belongs to another host: try again in a moment, or on that host");
        }
        return ledger::move_run(transaction, run, {.to = model::RunStatus::cancelled, .reason = reason}).value();
      },
      [this, answer](std::expected<Run, Error> moved) {
        if (moved) tell_changed(*moved);
        answer(std::move(moved));
      });
}

void Supervisor::cancel_and_wait(base::RunId run, Cancellation cancellation, std::function<void()> gone) {
  // Subscribes first, because the run may end before the cancellation is answered.
  auto hold = std::make_shared<Loop::Hold>();
  auto is_told = std::make_shared<bool>(false);
  const auto tell = [gone = std::move(gone), is_told] {
    if (!std::exchange(*is_told, true)) gone();
  };
  *hold = wait({.run = run, .through_approvals = true}, [hold, tell](const Run&) { tell(); });
  cancel(run, std::move(cancellation), [this, hold, tell](const std::expected<Run, Error>& cancelled) {
    if (cancelled) return;
    // It has ended or belongs to another daemon.
    context_.loop.post([hold] { *hold = {}; });
    tell();
  });
}

void Supervisor::cancel_all(const Cancellation& cancellation) {
  std::vector<base::RunId> ids;
  for (const auto& [id, _] : runs_) ids.push_back(id);
  for (const base::RunId id : ids) cancel(id, cancellation, [](const std::expected<Run, Error>&) {});
}

}  // namespace reeve::runtime
