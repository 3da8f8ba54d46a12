#include "server/http/frame_queue.h"

#include <array>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace reeve::server {
namespace {

SharedFrame frame(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

std::string gathered(const FrameQueue& queue) {
  std::array<boost::asio::const_buffer, 2> buffers;
  std::string text;
  for (const auto& buffer : queue.gather(buffers)) text.append(static_cast<const char*>(buffer.data()), buffer.size());
  return text;
}

TEST(FrameQueue, continues_in_the_middle_of_a_frame) {
  FrameQueue queue;
  for (const char* text : {"abc", "de", "f"}) queue.push(frame(text));
  EXPECT_EQ(gathered(queue), "abcde");
  queue.consume(4);
  EXPECT_EQ(gathered(queue), "ef");
  EXPECT_EQ(queue.bytes(), 2U);
  queue.consume(2);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0U);
}

// The peer would take what follows for the rest of the frame.
TEST(FrameQueue, keeps_a_frame_that_was_sent_in_part) {
  FrameQueue queue;
  for (const char* text : {"abc", "de", "f"}) queue.push(frame(text));
  queue.consume(1);
  queue.discard_unsent();
  queue.push(frame("x"));
  EXPECT_EQ(gathered(queue), "bcx");
  EXPECT_EQ(queue.bytes(), 3U);
}

TEST(FrameQueue, discards_all_if_nothing_was_sent) {
  FrameQueue queue;
  queue.push(frame("abc"));
  queue.discard_unsent();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0U);
}

}  // namespace
}  // namespace reeve::server
