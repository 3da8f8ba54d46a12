#include <memory>
#include <utility>

#include <fmt/format.h>

#include "ledger/pauses.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"

// What holds an execution: first that it is paused is stored, so that no further node starts; then its runs.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;

// Answers once every run has answered.
struct PausedRuns {
  std::size_t left = 1;
  // Runs that continue because their keeper cannot pause them.
  std::vector<std::string> running;
};

}  // namespace

void ExecutionDriver::pause(base::ExecutionId execution, bool is_paused, std::string by,
                            Answer<base::ExecutionId> answer) {
  ledger::ExecutionPausing pausing{.is_paused = is_paused, .by = by};
  if (context_.lease) pausing.daemon = context_.daemon;
  ask_store(
      context_.ledger, context_.loop,
      [execution, pausing](Transaction& transaction) {
        return ledger::pause_execution(transaction, execution, pausing);
      },
      [this, execution, is_paused, by, answer](const std::expected<std::vector<model::Run>, Error>& runs) {
        if (!runs) return answer(std::unexpected(runs.error()));
        pause_runs(execution, is_paused, by, *runs, answer);
        if (!is_paused) offer_room();
      });
}

void ExecutionDriver::pause_runs(base::ExecutionId execution, bool is_paused, const std::string& by,
                                 const std::vector<model::Run>& runs, const Answer<base::ExecutionId>& answer) {
  auto paused = std::make_shared<PausedRuns>();
  const auto one_less = [paused, execution, answer] {
    if (--paused->left > 0) return;
    if (paused->running.empty()) return answer(execution);
    answer(std::unexpected(Error(
        ErrorCode::run_keeper_too_old,
        fmt::format("{} is paused and starts no node, but {} cannot be paused and continues: it was started by an "
                    "older version of Reeve",
                    execution.text(), fmt::join(paused->running, ", ")),
        fmt::format("let it run, or end it: reeve cancel {}", paused->running.front()))));
  };
  for (const model::Run& run : runs) {
    LiveRun* live = parts_.supervisor.find(run.tool_run_id);
    // The daemon that holds it follows the store (Supervisor::poll_pauses).
    if (live == nullptr) continue;
    ++paused->left;
    const auto done = [paused, one_less, id = run.tool_run_id](const std::expected<model::Run, Error>& result) {
      // One that has ended meanwhile needs no pause.
      if (!result && result.error().is(ErrorCode::run_keeper_too_old)) paused->running.push_back(id.text());
      one_less();
    };
    if (is_paused) {
      live->pause(by, done);
    } else {
      live->resume(by, done);
    }
  }
  one_less();
}

}  // namespace reeve::runtime
