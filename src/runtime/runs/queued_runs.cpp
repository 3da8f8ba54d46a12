#include <utility>

#include <fmt/format.h>

#include "json/describe.h"
#include "json/encode.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "store/runs.h"

// RUN-14: runs that wait for their turn, from the request to the start of their process.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::Run;

constexpr auto retry_pause = std::chrono::seconds(1);

// The next daemon, which starts at once, reads what was stored.
void throw_if_unknown(const Error& error) {
  if (error.is(ErrorCode::store_unknown_outcome)) throw error;
}

}  // namespace

void Supervisor::enqueue(RunPlan plan, StartTerms terms, RunAnswer answer) {
  struct Stored {
    Run record;
    bool is_new = true;
  };
  auto shared = std::make_shared<const RunPlan>(std::move(plan));
  const ledger::QueuePlace place{.host = context_.host, .nonce = make_nonce(), .priority = shared->priority};
  const auto store = [shared, place, terms = std::move(terms)](ledger::Transaction& transaction) -> Stored {
    const auto answered = find_answer(transaction, terms.idempotency);
    const auto before = answered ? base::RunId::parse(*answered) : std::nullopt;
    if (before) {
      if (auto found = store::find_run(transaction.session(), *before)) return {std::move(found->run), false};
    }
    const base::RunId id = ledger::enqueue_run(transaction, make_run(*shared), place, shared->rerun);
    terms.along(transaction, id);
    Run record = store::find_run(transaction.session(), id).value().run;
    if (terms.idempotency) {
      remember_answer(transaction, terms.idempotency, id.text(), json::encode(json::to_value(record)));
    }
    return {std::move(record)};
  };
  const std::string runs = context_.folder.runs().string();
  ask_store(context_.ledger, context_.loop,
            StoreSteps{.before = [runs, shared, nonce = place.nonce] { draft_run(runs, nonce, *shared); },
                       .work = store,
                       .after =
                           [runs, nonce = place.nonce](const std::expected<Stored, Error>& stored) {
                             if (stored && stored->is_new) {
                               name_run(runs, nonce, stored->record.tool_run_id);
                             } else if (stored || !stored.error().is(ErrorCode::store_unknown_outcome)) {
                               drop_draft(runs, nonce);
                             }
                           }},
            [this, answer, priority = place.priority](std::expected<Stored, Error> stored) {
              if (!stored) {
                throw_if_unknown(stored.error());
                return answer(std::unexpected(stored.error()));
              }
              const base::RunId id = stored->record.tool_run_id;
              if (!stored->is_new) return answer(std::move(stored->record));
              context_.crash_point("run.after_enqueue");
              queue_.add(id, priority);
              stdin_.expect_sender(id);
              start_queued();
              // If it starts at once, the response is the record of the running run.
              if (const auto taken = taken_.find(id); taken != taken_.end()) {
                taken->second = answer;
              } else {
                answer(std::move(stored->record));
              }
            });
}

// RUN-13: continues the queue of the previous daemon in the same order.
void Supervisor::restore_queue(std::function<void()> done) {
  struct Queue {
    std::vector<ledger::QueuedRun> queued;
    std::vector<ledger::LimitedRun> limited;
  };
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host](ledger::Transaction& transaction) -> Queue {
        return {ledger::find_queued_runs(transaction, host), ledger::find_limited_runs(transaction, host)};
      },
      [this, done](std::expected<Queue, Error> found) {
        if (!found) throw found.error();
        restore_limited(found->limited);
        for (const ledger::QueuedRun& one : found->queued) {
          if (one.status != model::RunStatus::queued) {
            queue_.add_started(one.run, one.status);
            continue;
          }
          settle_files(context_.folder.runs().string(), one.run, 1, one.nonce);
          queue_.add(one.run, one.priority);
          stdin_.expect_sender(one.run);
        }
        done();
      });
}

void Supervisor::begin_queue() {
  has_begun_queue_ = true;
  continue_limited();
}

void Supervisor::start_queued() {
  if (!has_begun_queue_) return;
  while (const auto run = queue_.take()) {
    taken_.emplace(*run, [](const std::expected<Run, Error>&) {});
    // Posted, because many may start, and each blocks the loop for a moment.
    context_.loop.post([this, id = *run] { start_taken(id); });
  }
}

void Supervisor::start_taken(base::RunId run) {
  // The attempt that reached a usage limit is not forgotten yet.
  if (context_.refusal || find(run) != nullptr) return retry_taken(run);
  auto launch = read_launch(run_folder(context_, run));
  if (!launch.plan && launch.is_out_of_reach) return retry_taken(run);
  if (!launch.plan) return fail_taken(run, "its launch file is gone; start a new run");
  // APR-5: the standard input belongs to the launch, and each attempt reads it from its beginning.
  const bool is_next = limited_.contains(run);
  const auto refusal = is_next && launch.plan->has_stdin ? stdin_.find_rerun_refusal(run) : std::nullopt;
  if (refusal) return fail_taken(run, "it cannot be started again: " + *refusal);
  auto shared = std::make_shared<RunPlan>(std::move(*launch.plan));
  take_keeper([this, run, shared](std::expected<IdleKeeper, Error> keeper) {
    if (keeper) return start_taken_with(run, std::move(*shared), std::move(*keeper));
    // Descriptors become free when another run ends.
    if (keeper.error().is(ErrorCode::run_no_descriptors)) return retry_taken(run);
    fail_taken(run, "it could not be started: " + keeper.error().message());
  });
}

void Supervisor::start_taken_with(base::RunId run, RunPlan plan, IdleKeeper keeper) {
  const auto deadline = deadline_for(plan);
  const ledger::AttemptStart start = make_attempt(keeper.identity, deadline);
  auto kept = std::make_shared<IdleKeeper>(std::move(keeper));
  auto shared = std::make_shared<const RunPlan>(std::move(plan));
  // The folder of a first attempt was made with the run (RUN-18).
  const auto folder = limited_.contains(run) ? std::optional(run_folder(context_, run)) : std::nullopt;
  const auto draft = [folder, nonce = start.nonce] {
    if (folder) draft_attempt(*folder, nonce);
  };
  const auto begin = [run, start](ledger::Transaction& transaction) -> std::optional<Run> {
    const auto row = store::find_run(transaction.session(), run);
    // Cancelled meanwhile.
    if (!row || row->run.status != model::RunStatus::queued) return std::nullopt;
    ledger::begin_attempt(transaction, run, start);
    return store::find_run(transaction.session(), run).value().run;
  };
  const auto settle = [folder, nonce = start.nonce](const std::expected<std::optional<Run>, Error>& begun) {
    if (!folder) return;
    if (begun && *begun) {
      name_attempt(*folder, nonce, (*begun)->attempt);
    } else if (begun || !begun.error().is(ErrorCode::store_unknown_outcome)) {
      drop_draft(*folder, nonce);
    }
  };
  ask_store(context_.ledger, context_.loop, StoreSteps{.before = draft, .work = begin, .after = settle},
            [this, run, kept, shared, start, deadline](std::expected<std::optional<Run>, Error> begun) {
              if (!begun) {
                throw_if_unknown(begun.error());
                return retry_taken(run);
              }
              if (!*begun) {
                limited_.erase(run);
                if (queue_.on_status(run, model::RunStatus::cancelled)) context_.inbox.post(SlotsFreed{});
                return finish_taking(run, std::unexpected(Error(ErrorCode::run_not_running,
                                                                fmt::format("{} was cancelled", run.text()))));
              }
              context_.crash_point("run.after_tx_spawned");
              const Run& record = **begun;
              LiveRun& live = add({.record = record,
                                   .claim = {record.attempt, start.epoch},
                                   .nonce = start.nonce,
                                   .plan = *shared,
                                   .keeper_pid = static_cast<pid_t>(kept->identity.pid),
                                   .deadline = deadline});
              live.begin(std::move(kept->link));
              // From now on its node has the slot.
              if (record.node_id) queue_.remove(run);
              finish_taking(run, record);
              tell_changed(record);
              tell_followers(run);
            });
}

void Supervisor::fail_taken(base::RunId run, const std::string& reason) {
  ask_store(
      context_.ledger, context_.loop,
      [run, reason](ledger::Transaction& transaction) {
        const ledger::RunMove move{
            .to = model::RunStatus::failed, .reason = reason, .only_from = model::RunStatus::queued};
        return ledger::move_run(transaction, run, move);
      },
      [this, run, reason](std::expected<std::optional<Run>, Error> failed) {
        if (!failed) return retry_taken(run);
        if (*failed) {
          finish_taking(run, **failed);
          tell_changed(**failed);
        } else {
          finish_taking(run, std::unexpected(Error(ErrorCode::run_not_running, reason)));
        }
      });
}

void Supervisor::break_off(base::RunId run) {
  const std::string reason = "its standard input broke off: the client that sent it is gone";
  if (LiveRun* live = find(run)) {
    const auto grace = live->plan().profile.kill_grace;
    live->end({model::RunStatus::failed, reason, {}}, grace, [](const std::expected<Run, Error>&) {});
    return;
  }
  ask_store(
      context_.ledger, context_.loop,
      [run, reason](ledger::Transaction& transaction) {
        const ledger::RunMove move{
            .to = model::RunStatus::failed, .reason = reason, .only_from = model::RunStatus::queued};
        return ledger::move_run(transaction, run, move);
      },
      [this](const std::expected<std::optional<Run>, Error>& failed) {
        if (failed && *failed) tell_changed(**failed);
      });
}

// It keeps its slot, because nothing else could start now either. Its starter need not wait for that.
void Supervisor::retry_taken(base::RunId run) {
  const auto taken = taken_.find(run);
  if (taken == taken_.end()) return;
  const RunAnswer answer = std::exchange(taken->second, [](const std::expected<Run, Error>&) {});
  ask_store(
      context_.ledger, context_.loop,
      [run](ledger::Transaction& transaction) { return store::find_run(transaction.session(), run).value().run; },
      [answer](std::expected<Run, Error> record) { answer(std::move(record)); });
  after(retry_pause, [this, run] {
    if (!late_cancels_.contains(run)) return start_taken(run);
    finish_taking(run, std::unexpected(Error(ErrorCode::run_not_running, fmt::format("{} was cancelled", run.text()))));
  });
}

void Supervisor::finish_taking(base::RunId run, std::expected<Run, Error> record) {
  const auto taken = taken_.find(run);
  if (taken == taken_.end()) return;
  const RunAnswer answer = std::move(taken->second);
  taken_.erase(taken);
  answer(std::move(record));
  perform_late_cancels(run);
}

}  // namespace reeve::runtime
