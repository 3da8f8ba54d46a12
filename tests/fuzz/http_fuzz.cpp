#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "server/http/http_reader.h"

namespace {

constexpr reeve::server::HttpServer::Limits small{.header_bytes = 512, .body_bytes = 256};

// As a connection feeds it: unconsumed bytes are offered again, with more.
reeve::server::RequestReader read_in_pieces(std::string_view text, std::size_t piece) {
  reeve::server::RequestReader reader(small);
  std::string buffer;
  while (!text.empty() && !reader.is_complete() && !reader.refusal()) {
    const std::string_view some = text.substr(0, piece);
    text.remove_prefix(some.size());
    buffer += some;
    buffer.erase(0, reader.put(buffer));
    REEVE_ASSERT(buffer.size() <= small.header_bytes + piece);
  }
  return reader;
}

}  // namespace

// Any bytes as a request: refused, incomplete, or a request within the limits that is the same however it was split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto whole = read_in_pieces(text, 4096);
  auto bytes = read_in_pieces(text, 1);
  if (!whole.is_complete() && !bytes.is_complete()) return 0;
  REEVE_ASSERT(whole.is_complete() && bytes.is_complete());
  const server::Request one = whole.take();
  const server::Request two = bytes.take();
  REEVE_ASSERT(one.method == two.method && one.path == two.path && one.query == two.query);
  REEVE_ASSERT(one.headers == two.headers && one.body == two.body);
  REEVE_ASSERT(one.path.starts_with('/') && !base::find_invalid_utf8(one.path));
  REEVE_ASSERT(one.body.size() <= small.body_bytes);
  return 0;
}
