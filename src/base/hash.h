#pragma once

#include <string>
#include <string_view>

namespace reeve::base {

// SHA-256 in lower-case hexadecimal, 64 characters.
std::string sha256_hex(std::string_view bytes);
// HMAC-SHA-256 (RFC 2104) in the same spelling. The key may be of any length.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

}  // namespace reeve::base
