#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reeve::base {

// RFC 4648, with padding: bytes of any kind within JSON.
std::string encode_base64(std::string_view bytes);
// Nothing for what is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace reeve::base
