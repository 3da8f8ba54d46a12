#pragma once

#include <optional>
#include <string>

#include "model/run.h"

namespace reeve::ledger {

// The stored form of model::RunEnding.
std::string encode_ending(const model::RunEnding& ending);
std::optional<model::RunEnding> decode_ending(const std::optional<std::string>& text);

}  // namespace reeve::ledger
