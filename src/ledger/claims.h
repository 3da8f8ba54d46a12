#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/leases.h"
#include "ledger/runs.h"
#include "model/run.h"

// What a worker looks for in the store beside what its own steps tell it: work that others left, and where an execution
// belongs.
namespace reeve::ledger {

// Executions behind that one with something that may begin now.
std::vector<base::ExecutionId> find_ready(Transaction& transaction, const std::string& host, base::ExecutionId after,
                                          std::int64_t most);
// When the next of those that wait for their time may begin.
std::optional<base::WallTime> find_next_ready(Transaction& transaction);

// The execution that a person started, whose subgraphs the others are, and the config that was frozen with it.
struct Root {
  base::ExecutionId execution{0};
  std::optional<base::Value> config;
  model::ExecutionStatus status = model::ExecutionStatus::running;
};
// Throws `execution.not_found`.
Root find_root(Transaction& transaction, base::ExecutionId execution);

// Of these executions those that are over.
struct Over {
  base::ExecutionId execution{0};
  model::ExecutionStatus status = model::ExecutionStatus::completed;
};
std::vector<Over> find_over(Transaction& transaction, const std::vector<base::ExecutionId>& executions);

// What daemons of that host had is free at once: the caller is their successor, and knows that they are dead.
void end_leases_of(Transaction& transaction, const std::string& host, std::int64_t but);

// After the commit all daemons of a shared store look for work and for what was taken from them. PostgreSQL only.
void wake_others(Transaction& transaction);

// Of these, those that are another's by now: cancelled, taken over, taken back by a loop.
std::vector<Claim> find_lost(Transaction& transaction, const std::vector<Claim>& claims);

// The runs of a node, of all its attempts and iterations, in their order; of many the last.
std::vector<model::Run> find_runs(Transaction& transaction, base::ExecutionId execution, const std::string& node);
// The host that holds the run's last attempt.
std::optional<std::string> find_run_host(Transaction& transaction, base::RunId run, int attempt);

// A run that is not over although its node is, or runs another. Somebody has yet to end it.
struct Orphan {
  base::RunId run{0};
  // Its last attempt is with a host that has been gone for longer than its keepers wait for a daemon: nothing of it
  // lives, and nobody there will say so.
  std::optional<AttemptClaim> lost = {};
};
// Those that a daemon of `host` may end. Another host ends its own until its lease has been over since `gone_since`.
std::vector<Orphan> find_orphans(Transaction& transaction, const std::string& host, base::WallTime gone_since,
                                 std::int64_t most);
// Ends one whose host is gone. False when it is over already, or no orphan.
bool end_lost_orphan(Transaction& transaction, const Orphan& orphan);

bool is_orphan(Transaction& transaction, base::RunId run);

// ISO-3: a gate node of the execution or of its subgraphs that said no and was not merely to warn, or that failed;
// nothing when all that were asked said yes.
std::optional<std::string> find_refusing_gate(Transaction& transaction, base::ExecutionId root);

// The runs of gates of the execution and of its subgraphs, in their order; of many the last.
std::vector<model::Run> find_gate_runs(Transaction& transaction, base::ExecutionId root);

// Why what a completed execution changed is not in the checkout; nothing: no reason any more.
void note_execution(Transaction& transaction, base::ExecutionId root, const std::optional<std::string>& reason);

// What the attempt of a run gave as its result, if it did.
std::optional<base::Value> find_result(Transaction& transaction, base::RunId run, int attempt);

}  // namespace reeve::ledger
