#include "server/http/frame_counter.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/websocket_client.h"

namespace reeve::server {
namespace {

using Client = testing::WebSocketClient;

std::size_t count(std::string_view bytes, std::size_t piece) {
  FrameCounter counter;
  std::size_t frames = 0;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    frames += counter.feed(bytes.substr(0, piece));
  return frames;
}

// RFC 6455 §5.2: every length, masked or not, wherever the bytes are cut.
TEST(FrameCounter, counts_each_frame_once_at_any_split) {
  std::string bytes;
  for (const bool is_masked : {true, false}) {
    for (const std::size_t length : {0UZ, 1UZ, 125UZ, 126UZ, 127UZ, 65'535UZ, 65'536UZ, 70'000UZ}) {
      bytes += Client::bytes_of({Client::binary, std::string(length, '\x82'), true, is_masked});
    }
    bytes += Client::bytes_of({Client::text, "", false, is_masked});
    bytes += Client::bytes_of({Client::more, "", false, is_masked});
    bytes += Client::bytes_of({Client::ping, "", true, is_masked});
  }
  for (const std::size_t piece : {1UZ, 2UZ, 3UZ, 7UZ, 1'536UZ, 1'000'000UZ})
    EXPECT_EQ(count(bytes, piece), 22U) << piece;
}

// An absurd length must not make the following bytes count as frames.
TEST(FrameCounter, trusts_the_declared_length) {
  std::string bytes = Client::bytes_of({Client::text, "", true, true, std::size_t{1} << 62U});
  bytes += std::string(10'000, '\0');
  EXPECT_EQ(count(bytes, 100), 1U);
}

}  // namespace
}  // namespace reeve::server
