#pragma once

#include <string>

#include "ledger/executions.h"
#include "ledger/ledger.h"
#include "tests/support/store/stores.h"

namespace reeve::testing {

// A workflow from YAML, ready to be started.
ledger::NewExecution make_execution(const std::string& yaml, base::Value inputs = base::Value::object());
ledger::NewExecution make_execution(const model::Workflow& workflow, base::Value inputs = base::Value::object());

// n tasks in sequence; one task, n tasks in parallel, one task.
model::Workflow make_chain(int length);
model::Workflow make_fan(int width);

// A ledger on a store, with its own daemon, and helpers for tests. Waits for every commit, and fails the test if the
// facts of a published event differ from its text.
class TestLedger {
 public:
  explicit TestLedger(const TestStore& store, ledger::Ledger::Options options = {}, std::size_t room = 100);

  ledger::Ledger& operator*() noexcept { return *ledger_; }
  ledger::Ledger* operator->() noexcept { return ledger_.get(); }
  const ledger::WorkerCapacity& worker() const noexcept { return worker_; }

  struct Started {
    base::ExecutionId execution{0};
    ledger::StepResult step;
  };
  Started start(const ledger::NewExecution& wanted);
  ledger::StepResult finish(const ledger::Claim& claim, base::Value outputs = base::Value::object(),
                            bool said_yes = true);
  ledger::StepResult fail(const ledger::Claim& claim, const std::string& error = "broken");
  ledger::StepResult on(base::ExecutionId execution, engine::ExecutionEvent event);
  ledger::DecisionResult decide(base::ApprovalId id, engine::Answer answer);

 private:
  std::unique_ptr<ledger::Ledger> ledger_;
  ledger::WorkerCapacity worker_;
};

// The claims of started work.
std::vector<ledger::Claim> claims_of(const ledger::StepResult& step);

// "completed", and "node status node status …" in file order.
std::string execution_status(store::Session& session, base::ExecutionId execution);
std::string node_statuses(store::Session& session, base::ExecutionId execution);
// Fails the test if event numbers have gaps, the audit chain is broken, or counters and nodes disagree.
void expect_consistent(store::Session& session);

}  // namespace reeve::testing
