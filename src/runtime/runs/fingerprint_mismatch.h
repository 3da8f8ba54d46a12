#pragma once

#include "engine/digest.h"
#include "ledger/run_questions.h"

// APR-10: what would run differs from what was approved.
namespace reeve::runtime {

// Asks again for a run whose process has exited, naming what changed since the approval with the digest `approved`, as
// saved in the run's folder. After the commit, the caller saves the new fingerprint there.
struct FingerprintMismatch {
  std::string run_folder;
  std::optional<std::string> approved;
  engine::LaunchFingerprint now;
};
base::ApprovalId ask_anew(ledger::Transaction& transaction, const model::Run& run, ledger::QuestionFrame frame,
                          const FingerprintMismatch& changed);

}  // namespace reeve::runtime
