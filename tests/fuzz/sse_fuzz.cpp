#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/sse_reader.h"
#include "base/error.h"

namespace {

using namespace reeve;

struct Read {
  std::vector<std::string> events;
  std::string fault;
  friend bool operator==(const Read&, const Read&) = default;
};

Read read(std::string_view input, std::size_t piece) {
  constexpr std::size_t max_event = 64;
  agents::SseReader reader(max_event);
  Read result;
  for (std::size_t at = 0; at < input.size(); at += piece) {
    for (std::string& event : reader.on_bytes(input.substr(at, piece))) {
      REEVE_ASSERT(event.size() <= max_event);
      result.events.push_back(std::move(event));
    }
  }
  result.fault = reader.fault();
  return result;
}

}  // namespace

// A stream means the same wherever it is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Read whole = read(input, std::max<std::size_t>(size, 1));
  for (const std::size_t piece : {1UZ, 2UZ, 3UZ, 7UZ}) REEVE_ASSERT(read(input, piece) == whole);
  return 0;
}
