#pragma once

#include <cstdint>
#include <optional>

#include "model/approval.h"
#include "model/run.h"

namespace reeve::ledger {

// What the answer to a question means for the run that asked; to be acted on after the commit. All of it can be found
// in the store again, so that the next daemon goes on where this one died (APR-13).
struct RunConsequence {
  enum class Kind {
    // It has left: the next attempt is to be started on this grant.
    start_next,
    // Its process lives, and finds the answer by itself.
    go_on,
    // Its process lives: the answer is to be typed.
    type,
    // Its process lives, and is to be ended; why is stored.
    end_process,
    // The run is over.
    over,
  };
  Kind kind = Kind::over;
  model::Run run;
  model::Approval approval;
  // Of one that is typed: the keeper's number of the prompt.
  std::optional<std::int64_t> prompt;
};

}  // namespace reeve::ledger
