#include "ledger/units.h"

namespace reeve::ledger {

namespace {

class StepUnit final : public Unit {
 public:
  StepUnit(Executions& executions, const Worker& worker, base::ExecutionId execution, std::optional<Claim> claim,
           engine::ExecutionEvent event, StepDone done)
      : executions_(executions),
        worker_(worker),
        execution_(execution),
        claim_(claim),
        event_(std::move(event)),
        done_(std::move(done)) {}

  void prefetch(Transaction& transaction) override {
    const auto node = claim_ ? std::optional(claim_->node) : std::nullopt;
    tickets_ = executions_.prefetch(transaction, execution_, node);
  }

  void run(Transaction& transaction) override {
    result_ = {};
    const auto tickets = std::exchange(tickets_, std::nullopt);
    if (claim_) {
      executions_.conclude(transaction, *claim_, event_, worker_, result_, tickets);
    } else {
      executions_.step(transaction, execution_, event_, worker_, result_, tickets);
    }
  }

  void finish(const std::optional<base::Error>& error) override {
    if (done_) done_(error, result_);
  }

 private:
  Executions& executions_;
  const Worker& worker_;
  base::ExecutionId execution_;
  std::optional<Claim> claim_;
  engine::ExecutionEvent event_;
  StepDone done_;
  std::optional<ExecutionTickets> tickets_;
  StepResult result_;
};

}  // namespace

std::unique_ptr<Unit> make_conclude(Executions& executions, const Worker& worker, const Claim& claim,
                                    engine::ExecutionEvent event, StepDone done) {
  return std::make_unique<StepUnit>(executions, worker, claim.execution, claim, std::move(event), std::move(done));
}

std::unique_ptr<Unit> make_step(Executions& executions, const Worker& worker, base::ExecutionId execution,
                                engine::ExecutionEvent event, StepDone done) {
  return std::make_unique<StepUnit>(executions, worker, execution, std::nullopt, std::move(event), std::move(done));
}

}  // namespace reeve::ledger
