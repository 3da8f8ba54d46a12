#include "ledger/units.h"

namespace reeve::ledger {

namespace {

class ConcludeUnit final : public Unit {
 public:
  ConcludeUnit(Executions& executions, const WorkerCapacity& worker, const Claim& claim, engine::ExecutionEvent event,
               StepDone done)
      : executions_(executions), worker_(worker), claim_(claim), event_(std::move(event)), done_(std::move(done)) {}

  void prefetch(Transaction& transaction) override {
    tickets_ = executions_.prefetch(transaction, claim_.execution, claim_.node);
  }

  void run(Transaction& transaction) override {
    result_ = {};
    const auto tickets = std::exchange(tickets_, std::nullopt);
    executions_.conclude(transaction, claim_, event_, worker_, result_, tickets);
  }

  void finish(const std::optional<base::Error>& error) override {
    if (done_) done_(error, result_);
  }

 private:
  Executions& executions_;
  WorkerCapacity worker_;
  Claim claim_;
  engine::ExecutionEvent event_;
  StepDone done_;
  std::optional<ExecutionTickets> tickets_;
  StepResult result_;
};

}  // namespace

std::unique_ptr<Unit> make_conclude(Executions& executions, const WorkerCapacity& worker, const Claim& claim,
                                    engine::ExecutionEvent event, StepDone done) {
  return std::make_unique<ConcludeUnit>(executions, worker, claim, std::move(event), std::move(done));
}

}  // namespace reeve::ledger
