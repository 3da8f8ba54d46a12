#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/leases.h"
#include "ledger/runs.h"
#include "model/run.h"

// Store queries of a worker besides its own steps: work left by others, and which root and host an execution belongs
// to.
namespace reeve::ledger {

// Executions after `after` with a node that may start now.
std::vector<base::ExecutionId> find_ready(Transaction& transaction, const std::string& host, base::ExecutionId after,
                                          std::int64_t most);
// When the next delayed node may start.
std::optional<base::WallTime> find_next_ready(Transaction& transaction);

// The execution that a user started, of which the others are subgraphs, and the config frozen with it.
struct Root {
  base::ExecutionId execution{0};
  std::optional<base::Value> config;
  model::ExecutionStatus status = model::ExecutionStatus::running;
};
// Throws `execution.not_found`.
Root find_root(Transaction& transaction, base::ExecutionId execution);

// The executions among these that have ended.
struct Over {
  base::ExecutionId execution{0};
  model::ExecutionStatus status = model::ExecutionStatus::completed;
};
std::vector<Over> find_over(Transaction& transaction, const std::vector<base::ExecutionId>& executions);

// Ends the leases of that host's other daemons: the caller is their successor and knows that they are dead.
void end_leases_of(Transaction& transaction, const std::string& host, std::int64_t but);

// After the commit, all daemons of a shared store look for work and for claims that they lost. PostgreSQL only.
void wake_others(Transaction& transaction);

// The claims among these that are no longer current: cancelled, taken over, or reset by a loop.
std::vector<Claim> find_lost(Transaction& transaction, const std::vector<Claim>& claims);

// The runs of a node, of all attempts and iterations, in order; if there are many, the last ones.
std::vector<model::Run> find_runs(Transaction& transaction, base::ExecutionId execution, const std::string& node);
// The host of the run's last attempt.
std::optional<std::string> find_run_host(Transaction& transaction, base::RunId run, int attempt);
// The same; nothing if the attempt has ended.
std::optional<std::string> find_live_host(Transaction& transaction, base::RunId run, int attempt);

// An unfinished run whose node has ended or has another run. It must still be ended.
struct Orphan {
  base::RunId run{0};
  // Set if its last attempt is on a host that has been gone for longer than its keepers wait for a daemon: no process
  // is left, and that host will not report it.
  std::optional<AttemptClaim> lost = {};
};
// The orphans that a daemon of `host` may end. Another host ends its own until its lease expired before `gone_since`.
std::vector<Orphan> find_orphans(Transaction& transaction, const std::string& host, base::WallTime gone_since,
                                 std::int64_t most);
// Ends an orphan whose host is gone. False if it has already ended or is not an orphan.
bool end_lost_orphan(Transaction& transaction, const Orphan& orphan);

bool is_orphan(Transaction& transaction, base::RunId run);

// ISO-3: a blocking gate of the execution or its subgraphs that did not pass or failed; nothing if all gates passed.
std::optional<std::string> find_refusing_gate(Transaction& transaction, base::ExecutionId root);

// The gate runs of the execution and its subgraphs, in order; if there are many, the last ones.
std::vector<model::Run> find_gate_runs(Transaction& transaction, base::ExecutionId root);

// Stores why a completed execution's changes are not in the checkout; empty clears the reason.
void note_execution(Transaction& transaction, base::ExecutionId root, const std::optional<std::string>& reason);

// The result that the run's attempt reported, if any.
std::optional<base::Value> find_result(Transaction& transaction, base::RunId run, int attempt);

}  // namespace reeve::ledger
