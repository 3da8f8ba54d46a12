#include "server/secret.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/random.h"

namespace reeve::server {

std::string make_secret() {
  std::array<std::byte, 32> bytes{};
  base::SystemRandom().fill(bytes);
  std::string text;
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

}  // namespace reeve::server
