#include <set>

#include "runtime/loop/store_task.h"
#include "runtime/runs/supervisor.h"

// With a shared store, a person may pause an execution through any daemon: each one pauses the runs that it holds.
namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

void Supervisor::poll_pauses() {
  if (runs_.empty() || !reading_pauses_.begin()) return;
  ask_store(
      context_.ledger, context_.loop,
      [daemon = context_.daemon](ledger::Transaction& transaction) {
        return ledger::find_paused_runs(transaction, daemon);
      },
      [this](const std::expected<std::vector<base::RunId>, Error>& found) {
        const bool must_repeat = reading_pauses_.end();
        if (!found) return;
        const std::set<base::RunId> paused(found->begin(), found->end());
        std::vector<base::RunId> runs;
        for (const auto& [id, _] : runs_) runs.push_back(id);
        for (const base::RunId id : runs) follow_pause(id, paused.contains(id));
        if (must_repeat) poll_pauses();
      });
}

void Supervisor::follow_pause(base::RunId run, bool is_paused) {
  LiveRun* live = find(run);
  if (live == nullptr || !live->is_alive() || live->is_paused() == is_paused) return;
  // A keeper that has just been connected may take seconds to say what it can do.
  if (!following_.insert(run).second) return;
  const auto done = [this, run, claim = live->claim()](const std::expected<model::Run, Error>& result) {
    following_.erase(run);
    if (!result && result.error().is(ErrorCode::run_keeper_too_old)) refuse_pause(run, claim);
  };
  // Nobody here asked for it: what the store says counts.
  if (is_paused) {
    live->pause({}, done);
  } else {
    live->resume({}, done);
  }
}

void Supervisor::refuse_pause(base::RunId run, const ledger::AttemptClaim& claim) {
  ask_store(
      context_.ledger, context_.loop,
      [run, claim](ledger::Transaction& transaction) { return ledger::refuse_pause(transaction, run, claim); },
      [this](const std::expected<std::optional<model::Run>, Error>& refused) {
        if (refused && *refused) tell_changed(**refused);
      });
}

}  // namespace reeve::runtime
