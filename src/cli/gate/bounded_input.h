#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "base/clock.h"

namespace reeve::cli {

// Everything up to the end of the descriptor, or why not: too much, too late, unreadable.
std::expected<std::string, std::string> read_bounded(int fd, std::size_t max_bytes, base::BootTime deadline);

}  // namespace reeve::cli
