#pragma once

#include <string>

namespace reeve::server {

// 32 random bytes in hexadecimal: kept as SHA-256, which is enough for what nobody can guess.
std::string make_secret();

}  // namespace reeve::server
