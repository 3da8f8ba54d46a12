#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/execution.h"
#include "ledger/approvals.h"
#include "ledger/executions.h"
#include "model/approval.h"
#include "model/run.h"
#include "runtime/output/log_thread.h"

// What the parts of the daemon report to each other. Daemon::handle() says who acts on which event.
namespace reeve::runtime {

// Runs.

// A run's record changed, and the change is committed.
struct RunChanged {
  model::Run run;
};
// A queued run uses its slot no longer (RUN-14).
struct SlotsFreed {};
// An attempt of the run is now held by this daemon: begun, or found when it started.
struct RunLive {
  base::RunId run{0};
};
// An attempt was lost and none of its processes is alive. Its run continues only after the answer; with an error, it
// fails.
struct AttemptLost {
  model::Run run;
  std::function<void(const std::optional<base::Error>&)> answer;
};
// The log thread has read output of an attempt.
struct OutputRead {
  OutputBatch batch;
};
// A tool that speaks Reeve's protocol has printed a tool call (TOOL-4). Whoever acts on it calls
// LiveRun::on_call_taken(), exactly once, as soon as the call is stored or cannot be: until then nothing after it is
// read, so that the next daemon finds it again. The same call may come twice.
struct CallPrinted {
  base::RunId run{0};
  int attempt = 1;
  // Its own id of the call.
  std::string id;
  std::string tool;
  // May contain secrets.
  base::Value arguments;
  // Output position after its line, for on_call_taken().
  std::uint64_t position = 0;
};
// Whole lines were written to the log.
struct LogLinesWritten {
  std::string lines;
};

// Approvals.

// Only the id is set where the asker does not know the rest.
struct QuestionAsked {
  model::Approval approval;
};
// A question was answered by a plain SQL update (APR-6), and the consequences are committed.
struct OutsideAnswerFound {
  ledger::OutsideResult result;
};
// Branches may be applied to the user's checkout: a person has approved it, or it is time to retry.
struct ApplyGranted {};

// Executions and their nodes.

// Steps followed from status changes of runs; with an error, it is unknown whether they were stored.
struct StepsCommitted {
  std::optional<base::Error> error;
  ledger::StepResult result;
};
// Its run changed, or whether it uses a slot.
struct NodeChanged {
  ledger::Claim claim;
};
// Its working folder is ready: it needs a slot for its run (RUN-14).
struct WorktreeReady {
  ledger::Claim claim;
  std::string folder;
};
// The work is over. `make_event` is called within the transaction that concludes the claim.
struct NodeWorkEnded {
  ledger::Claim claim;
  std::function<engine::ExecutionEvent(ledger::Transaction&)> make_event;
};
// Another daemon holds the claim: nothing is concluded.
struct ClaimLost {
  ledger::Claim claim;
};

// A claim of a dead daemon that passed to this one.
struct AdoptedNode {
  ledger::Executions::Held held;
  // All runs of the node, in order.
  std::vector<model::Run> runs;
  // Its last run was on another host and has no live processes.
  bool is_foreign = false;
};
// An execution was moved here from another host (ISO-1), with the nodes to continue.
struct ExecutionMigrated {
  base::ExecutionId root{0};
  std::vector<AdoptedNode> nodes;
  ledger::StepResult step;
};

// The store.

// Events were committed; one report covers all that were committed before it is handled.
struct EventsPublished {};
// Another process wrote to the store, or a poll found something to do.
struct StorePolled {};

using Event = std::variant<RunChanged, SlotsFreed, RunLive, AttemptLost, OutputRead, CallPrinted, LogLinesWritten,
                           QuestionAsked, OutsideAnswerFound, ApplyGranted, StepsCommitted, NodeChanged, WorktreeReady,
                           NodeWorkEnded, ClaimLost, ExecutionMigrated, EventsPublished, StorePolled>;

}  // namespace reeve::runtime
