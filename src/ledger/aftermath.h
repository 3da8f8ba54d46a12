#pragma once

#include <functional>
#include <optional>

#include "ledger/executions.h"
#include "ledger/unit.h"

namespace reeve::ledger {

// What follows for nodes from what became of their runs (GRF-7), in the transaction that it became so: a crash never
// finds the one without the other. Of the store thread.
class Aftermath {
 public:
  struct Options {
    // Who decides, as it is at the time.
    std::function<Worker()> worker = [] { return Worker(); };
    // What is to be done about it, after the commit. With an error nobody knows whether it was stored.
    std::function<void(const std::optional<base::Error>&, const StepResult&)> told = {};
  };

  // The executions must outlive it.
  Aftermath(Executions& executions, Options options) : executions_(executions), options_(std::move(options)) {}

  // A transaction begins: what followed from one that was undone is forgotten.
  void begin() { result_ = {}; }
  // After each unit. Throws as a unit does.
  void follow(Transaction& transaction);
  // It is stored, or that is not known.
  void finish(const std::optional<base::Error>& error);

 private:
  Executions& executions_;
  Options options_;
  StepResult result_;
};

}  // namespace reeve::ledger
