#pragma once

#include <cstdint>
#include <optional>

#include "model/approval.h"
#include "model/run.h"

namespace reeve::ledger {

// The consequence of an answer for the run that asked, to be performed after the commit. It can be derived from the
// store again, so that the next daemon can resume after a crash (APR-13).
struct RunConsequence {
  enum class Kind {
    // The process has exited: the next attempt starts with this grant.
    start_next,
    // The process is alive and reads the answer itself.
    go_on,
    // The process is alive: the answer must be typed.
    type,
    // The process is alive and must be ended; the reason is stored.
    end_process,
    // The process has ended with 90 while its tool calls waited, and none of them waits any more: the next attempt
    // starts
    // without a grant (APR-8).
    resume_released,
    // The run has ended.
    over,
  };
  Kind kind = Kind::over;
  model::Run run;
  model::Approval approval;
  // For a typed answer: the keeper's number of the prompt.
  std::optional<std::int64_t> prompt;
};

}  // namespace reeve::ledger
