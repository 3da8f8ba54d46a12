#pragma once

#include <string_view>

namespace reeve::os {

// Writes all bytes, and waits where a non-blocking descriptor would refuse them. Returns false with errno set if that
// fails; some of the bytes may have been written.
bool write_all(int fd, std::string_view bytes) noexcept;

}  // namespace reeve::os
