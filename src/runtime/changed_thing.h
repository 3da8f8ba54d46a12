#pragma once

#include "engine/digest.h"
#include "ledger/run_questions.h"

// APR-10: what would run is not what was approved.
namespace reeve::runtime {

// Asks anew for a run whose process has left, and says what has changed since it was asked for with `approved`; that is
// known by what was kept in the run's folder then. What is asked about now is for the caller to keep there, after the
// commit.
struct ChangedThing {
  std::string run_folder;
  std::optional<std::string> approved;
  engine::ApprovedThing now;
};
base::ApprovalId ask_anew(ledger::Transaction& transaction, const model::Run& run, ledger::QuestionFrame frame,
                          const ChangedThing& changed);

}  // namespace reeve::runtime
