#pragma once

#include <functional>
#include <optional>

#include "ledger/executions.h"
#include "ledger/unit.h"

namespace reeve::ledger {

// Propagates run changes to nodes (GRF-7) in the transaction that makes them, so that a crash never leaves one without
// the other. Used on the store thread only.
class NodeStatusPropagation {
 public:
  struct Options {
    // The current deciding worker.
    std::function<WorkerCapacity()> worker = [] { return WorkerCapacity(); };
    // Receives the actions to perform after the commit. With an error, it is unknown whether the changes were stored.
    std::function<void(const std::optional<base::Error>&, const StepResult&)> told = {};
  };

  // `executions` must outlive it.
  NodeStatusPropagation(Executions& executions, Options options)
      : executions_(executions), options_(std::move(options)) {}

  // Starts a transaction: results of one that was rolled back are discarded.
  void begin() { result_ = {}; }
  // Called after each unit. Throws as a unit does.
  void follow(Transaction& transaction);
  // The transaction is stored, or its outcome is unknown.
  void finish(const std::optional<base::Error>& error);

 private:
  Executions& executions_;
  Options options_;
  StepResult result_;
};

}  // namespace reeve::ledger
