#pragma once

#include <optional>
#include <string>

#include "engine/decision.h"
#include "ledger/unit.h"
#include "model/run.h"
#include "store/runs.h"

// Runs in the store (SPEC §1): what exists before its process does, and how it moves.
namespace reeve::ledger {

// Queued, with the id that the store gives it. Its event is told.
base::RunId create_run(Transaction& transaction, const model::Run& run);

struct RunMove {
  model::RunStatus to = model::RunStatus::running;
  std::optional<std::string> reason = {};
  std::optional<model::Outcome> outcome = {};
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::optional<int> exec_errno = {};
  std::optional<std::string> last_error = {};
  // How long ago the process ended (RUN-13). Not a time: the store may go by another machine's clock.
  base::Milliseconds ended_ago{0};
  // Nothing is done when it is another by now.
  std::optional<model::RunStatus> only_from = {};
  // For a run that goes back to the queue (RUN-18).
  std::optional<base::WallTime> not_before = {};
  // The process is over though the run is not: it left with a question. Every final status, and the queue, say so
  // themselves. Only with it may a run that waits be moved to where it is.
  bool ends_attempt = false;
};

// Which attempt speaks, and how often it had changed hands. Another one by now: what it says is refused (GRF-13).
struct AttemptClaim {
  int attempt = 1;
  std::int64_t epoch = 0;
};

// The run, locked to the end of the transaction. Throws `run.not_found`, and AggregateBusy while another has it.
store::RunRow lock_run(Transaction& transaction, base::RunId id);
// Whether the attempt lives and is the claim's.
bool is_current(Transaction& transaction, const model::Run& run, const AttemptClaim& claim);

// The run as it is now; nothing when the claim is not the run's any more. Without a claim a person speaks. A run that
// is over closes its questions (RUN-6, APR-4). Throws `run.not_found`, and `run.illegal_move` where RUN-2 has no such
// move.
std::optional<model::Run> move_run(Transaction& transaction, base::RunId id, const RunMove& move,
                                   const std::optional<AttemptClaim>& claim = {});

// Who holds an attempt: never a pid alone.
struct KeeperIdentity {
  std::string host = {};
  std::string boot_id = {};
  std::int64_t pid = 0;
  std::int64_t started = 0;
};

// Tells that something about a run is worth knowing though its status stays (RUN-5). False when the claim is not the
// run's any more.
bool warn_of_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim, const std::string& reason);

struct AttemptStart {
  std::int64_t daemon = 0;
  std::int64_t epoch = 0;
  KeeperIdentity keeper = {};
  std::string nonce = {};
  // Of the hard timeout, by the kernel's clock since the boot.
  std::optional<std::int64_t> deadline_ms = {};
  // The grant that it is started on, and what would run (APR-7).
  std::optional<base::ApprovalId> grant = {};
  std::optional<std::string> digest = {};
};

// The next attempt, stored before its process exists; a grant is consumed in the same transaction. Nothing is created
// when the grant does not hold: it is void then, or was used before.
struct AttemptResult {
  std::optional<int> attempt;
  std::optional<std::string> void_reason;
  std::optional<engine::GrantRefusal> refusal;
};
AttemptResult begin_attempt(Transaction& transaction, base::RunId id, const AttemptStart& start);

// The next attempt of a run whose last one was lost, without anybody having been asked (RUN-13, `rerun`). The attempt's
// number; nothing when the claim is not the run's any more.
std::optional<int> rerun_attempt(Transaction& transaction, base::RunId id, const AttemptClaim& lost,
                                 const AttemptStart& start);

}  // namespace reeve::ledger
