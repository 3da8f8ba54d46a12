#pragma once

#include <optional>

#include "keeper/message.h"
#include "keeper/records.h"

namespace reeve::keeper {

// How to start the attempt: the run's launch file plus the additions of the assignment. Nullopt if the file is missing
// or damaged.
std::optional<Launch> read_launch(const Assign& assign);
// Applies to processes started from now on.
void limit_open_files(std::uint64_t count) noexcept;

}  // namespace reeve::keeper
