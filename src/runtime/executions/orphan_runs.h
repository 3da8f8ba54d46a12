#pragma once

#include <expected>
#include <functional>
#include <vector>

#include "ledger/claims.h"
#include "runtime/executions/retry.h"
#include "runtime/runs/supervisor.h"

namespace reeve::runtime {

// GRF-7: no run outlives its node. Ends runs whose node has ended. Lives on the loop.
class OrphanRuns {
 public:
  OrphanRuns(RuntimeContext& context, Supervisor& supervisor) : context_(context), supervisor_(supervisor) {}
  OrphanRuns(const OrphanRuns&) = delete;
  OrphanRuns& operator=(const OrphanRuns&) = delete;

  // Called at start, before any cleanup. Retried until it succeeds.
  void end_all(std::function<void()> done);
  // If ending a run failed in the store, or was requested while the run was between two daemons, nothing else handles
  // it: called at reported polls, checks again if a run of a node is not `is_held` by any work here, and asks for the
  // next report while there is one.
  void poll(const std::function<bool(base::RunId)>& is_held);

 private:
  using Found = std::expected<std::vector<ledger::Orphan>, base::Error>;
  void find(std::function<void(Found)> then);
  void end(const ledger::Orphan& orphan, std::function<void()> done);

  RuntimeContext& context_;
  Supervisor& supervisor_;
  RetryAfterPause retry_{context_.loop};
  bool is_reading_ = false;
  base::BootTime next_here_;
  base::BootTime next_elsewhere_;
};

}  // namespace reeve::runtime
