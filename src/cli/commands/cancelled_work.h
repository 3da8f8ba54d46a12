#pragma once

#include <vector>

#include "cli/command.h"
#include "client/executions.h"

namespace reeve::cli {

// Live runs and open questions, collected before a cancel, so that its answer names what it ended. Names only what the
// daemon shows; a cancel never fails because of it.
class CancelledWork {
 public:
  // Of one run.
  static CancelledWork find(client::Daemon& daemon, base::RunId id);
  // Of an execution and its subgraphs.
  static CancelledWork find(client::Daemon& daemon, base::ExecutionId id);

  // One line each on standard output, the runs of an execution first.
  void print(const Call& call) const;

 private:
  void collect(client::Daemon& daemon, base::ExecutionId id, int depth);

  std::vector<model::Run> runs_;
  std::vector<model::Approval> questions_;
};

}  // namespace reeve::cli
