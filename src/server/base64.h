#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reeve::server {

// RFC 4648 with padding; nothing for what is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace reeve::server
