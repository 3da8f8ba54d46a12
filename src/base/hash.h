#pragma once

#include <string>
#include <string_view>

namespace reeve::base {

// SHA-256 in lower-case hexadecimal, 64 characters.
std::string sha256_hex(std::string_view bytes);

}  // namespace reeve::base
