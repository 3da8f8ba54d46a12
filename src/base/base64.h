#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reeve::base {

// RFC 4648, with padding: carries arbitrary bytes in JSON.
std::string encode_base64(std::string_view bytes);
// Returns nullopt if the text is not base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace reeve::base
