#pragma once

#include <optional>

#include "keeper/message.h"
#include "keeper/records.h"

namespace reeve::keeper {

// How the attempt is started: the run's launch with what the assignment adds. Nothing when it is not there or broken.
std::optional<Launch> read_launch(const Assign& assign);
// For what is started from now on.
void limit_open_files(std::uint64_t count) noexcept;

}  // namespace reeve::keeper
