#pragma once

#include <string>

#include "base/random.h"

namespace reeve::server {

// 32 random bytes in hexadecimal. Storing their SHA-256 is enough, because they cannot be guessed.
inline std::string make_secret() { return base::random_hex(32); }

}  // namespace reeve::server
