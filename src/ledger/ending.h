#pragma once

#include <optional>
#include <string>

#include "model/run.h"

namespace reeve::ledger {

// Why an attempt is being ended from outside, stored before anything is done to it, so that the next daemon knows what
// its end means.
struct Ending {
  model::RunStatus status = model::RunStatus::cancelled;
  std::string reason;
  std::optional<model::Outcome> outcome;
};
BOOST_DESCRIBE_STRUCT(Ending, (), (status, reason, outcome))

std::string encode_ending(const Ending& ending);
std::optional<Ending> decode_ending(const std::optional<std::string>& text);

}  // namespace reeve::ledger
