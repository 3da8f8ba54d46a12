#pragma once

#include <cstddef>
#include <optional>

namespace reeve::os {

bool is_terminal(int fd) noexcept;
// How wide the terminal behind this descriptor is, if it is one and knows.
std::optional<std::size_t> terminal_columns(int fd) noexcept;

}  // namespace reeve::os
