#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "json/encode.h"
#include "json/parse.h"

// Any bytes as JSON: refused, or encoded and read again with the same meaning.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const auto parsed = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed) {
    REEVE_ASSERT(!parsed.error().message.empty());
    return 0;
  }
  const std::string text = json::encode(*parsed);
  const auto again = json::parse(text);
  REEVE_ASSERT(again.has_value());
  REEVE_ASSERT(json::encode(*again) == text);
  REEVE_ASSERT(json::encode_canonical(*again) == json::encode_canonical(*parsed));
  return 0;
}
