#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/decision.h"
#include "ledger/unit.h"
#include "model/run.h"
#include "store/runs.h"

// Runs in the store (SPEC §1): created before their process, and their transitions.
namespace reeve::ledger {

// Creates a queued run with an id from the store, and sends its event. `launch` is what `reeve rerun` needs.
base::RunId create_run(Transaction& transaction, const model::Run& run, const std::optional<std::string>& launch = {});

// RUN-14: the daemon that starts the run when it is its turn, and where the launch file is until the run is named.
struct QueuePlace {
  std::string host;
  std::string nonce;
  int priority = 0;
};
// Creates a run that obeys `max_parallel_runs`.
base::RunId enqueue_run(Transaction& transaction, const model::Run& run, const QueuePlace& place,
                        const std::optional<std::string>& launch = {});

// An unfinished run that obeys `max_parallel_runs`.
struct QueuedRun {
  base::RunId run{0};
  model::RunStatus status = model::RunStatus::queued;
  int priority = 0;
  std::string nonce;
};
// Those of that host, in order.
std::vector<QueuedRun> find_queued_runs(Transaction& transaction, const std::string& host);

struct RunMove {
  model::RunStatus to = model::RunStatus::running;
  std::optional<std::string> reason = {};
  std::optional<model::Outcome> outcome = {};
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::optional<int> exec_errno = {};
  std::optional<std::string> last_error = {};
  // How long ago the process ended (RUN-13). A duration, because the store may use another machine's clock.
  base::Milliseconds ended_ago{0};
  // If set, does nothing unless this is the current status.
  std::optional<model::RunStatus> only_from = {};
  // For a run that goes back to the queue (RUN-18).
  std::optional<base::WallTime> not_before = {};
  // The process exited although the run has not ended: it left a question. Final statuses and the queue imply this.
  // Only with this flag may a waiting run be moved to its own status.
  bool ends_attempt = false;
};

// The attempt that writes, and its epoch. If either is outdated, its writes are refused (GRF-13).
struct AttemptClaim {
  int attempt = 1;
  std::int64_t epoch = 0;
};

// The run, locked until the end of the transaction. Throws `run.not_found`, and AggregateBusy if another transaction
// holds it.
store::RunRow lock_run(Transaction& transaction, base::RunId id);
// Whether the attempt is live and the claim is current.
bool is_current(Transaction& transaction, const model::Run& run, const AttemptClaim& claim);

// Moves the run and returns it; nothing if the claim is no longer current. Without a claim, a user acts. A run that
// ends closes its questions (RUN-6, APR-4). Throws `run.not_found`, and `run.illegal_move` for a transition that RUN-2
// does not allow.
std::optional<model::Run> move_run(Transaction& transaction, base::RunId id, const RunMove& move,
                                   const std::optional<AttemptClaim>& claim = {});

// Identifies the keeper of an attempt: never by pid alone.
struct KeeperIdentity {
  std::string host = {};
  std::string boot_id = {};
  std::int64_t pid = 0;
  std::int64_t started = 0;
};

// Sends a warning event about a run without changing its status (RUN-5). False if the claim is no longer current.
bool warn_of_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim, const std::string& reason);

// Sends the event of the run's status again, with a reason.
void tell_reason(Transaction& transaction, const model::Run& run, const std::string& reason);

// A person pauses a live attempt or lets it continue: stored before anything is done to its processes.
struct RunPausing {
  bool is_paused = true;
  // Empty if it was stored by another daemon: then nothing is stored, unless that has changed again.
  std::string by = {};
  // When it pauses: what is left of its hard timeout (RUN-3).
  std::optional<std::int64_t> time_left_ms = {};
};
// Nothing if the claim is no longer current, or if the store no longer says what another daemon stored.
std::optional<model::Run> pause_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                                    const RunPausing& pausing);
// The same for a run that another daemon holds, which pauses its processes when it reads that.
void pause_run_elsewhere(Transaction& transaction, base::RunId id, const RunPausing& pausing);
// The keeper of a run that another daemon paused cannot pause it: it is stored as running again. Nothing if the claim
// is no longer current.
std::optional<model::Run> refuse_pause(Transaction& transaction, base::RunId id, const AttemptClaim& claim);
// The paused runs that the daemon holds.
std::vector<base::RunId> find_paused_runs(Transaction& transaction, std::int64_t daemon);
// The clock of its hard timeout stands still, with that much left.
void hold_clock(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                const std::optional<std::int64_t>& time_left_ms);

// A person changed the limits of a live attempt.
struct RunLimiting {
  // For its event: "timeout set to 2h by ana".
  std::string reason = {};
  // The clock of the hard timeout: while it runs, else while it stands still. Neither without a limit.
  std::optional<std::int64_t> deadline_ms = {};
  std::optional<std::int64_t> time_left_ms = {};
};
std::optional<model::Run> limit_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                                    const RunLimiting& limiting);

struct AttemptStart {
  std::int64_t daemon = 0;
  std::int64_t epoch = 0;
  KeeperIdentity keeper = {};
  std::string nonce = {};
  // The hard timeout, by the kernel's boot clock.
  std::optional<std::int64_t> deadline_ms = {};
  // The grant that it starts with, and the digest of what would run (APR-7).
  std::optional<base::ApprovalId> grant = {};
  std::optional<std::string> digest = {};
  // A released run goes on: its calls are all answered. Not combined with a grant.
  bool resumes_released = false;
};

// Creates the next attempt before its process exists; a grant is consumed in the same transaction. Nothing is created
// if the grant is not valid: it is then void, or was already used.
struct AttemptResult {
  std::optional<int> attempt;
  std::optional<std::string> void_reason;
  std::optional<engine::GrantRefusal> refusal;
};
AttemptResult begin_attempt(Transaction& transaction, base::RunId id, const AttemptStart& start);

// Creates the next attempt after a lost one without asking (RUN-13, `rerun`). Returns its number; nothing if the claim
// is no longer current.
std::optional<int> rerun_attempt(Transaction& transaction, base::RunId id, const AttemptClaim& lost,
                                 const AttemptStart& start);

}  // namespace reeve::ledger
