#include "keeper/stdin_feed.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "keeper/records.h"
#include "runtime/runs/stdin_file.h"
#include "tests/support/files.h"

namespace reeve::keeper {
namespace {

TEST(StdinHead, damaged_head_is_refused) {
  const StdinHead head{.written = 77, .has_ended = true, .is_whole = false};
  std::string bytes = encode_stdin_head(head);
  EXPECT_EQ(bytes.size(), stdin_head_bytes);
  EXPECT_EQ(decode_stdin_head(bytes), head);
  bytes[14] ^= 1;
  EXPECT_EQ(decode_stdin_head(bytes), std::nullopt);
  EXPECT_EQ(decode_stdin_head(""), std::nullopt);
}

class Stdin : public ::testing::Test {
 protected:
  Stdin() { scratch_.write("stdin", encode_stdin_head({})); }
  std::string folder() const { return scratch_.path().string(); }
  // Writes as the daemon does.
  void write(std::string_view bytes, bool is_end = false) {
    const auto result = runtime::append_stdin(folder(), head_, bytes, is_end);
    EXPECT_EQ(result.error_number, 0);
    head_ = result.head;
  }
  StdinGrew news() const { return {.written = head_.written, .has_ended = head_.has_ended}; }
  static std::string read_all(StdinFeed& feed) {
    std::string all;
    std::string part;
    while (feed.read(part)) all += part;
    return all;
  }
  testing::ScratchFolder scratch_;
  StdinHead head_;
};

// RUN-9
TEST_F(Stdin, stream_is_read_as_it_grows_and_again_from_its_beginning) {
  auto feed = StdinFeed::open(folder(), news());
  ASSERT_TRUE(feed);
  EXPECT_EQ(read_all(*feed), "");
  write("one");
  feed->grow(news());
  EXPECT_EQ(read_all(*feed), "one");
  EXPECT_FALSE(feed->is_at_end());
  write("two", true);
  feed->grow(news());
  EXPECT_FALSE(feed->is_at_end());
  EXPECT_EQ(read_all(*feed), "two");
  EXPECT_TRUE(feed->is_at_end());
  // A late message.
  feed->grow({.written = 1});
  EXPECT_TRUE(feed->is_at_end());
  auto next = StdinFeed::open(folder(), news());
  ASSERT_TRUE(next);
  EXPECT_EQ(read_all(*next), "onetwo");
  EXPECT_EQ(runtime::read_stdin_head(folder()), head_);
  EXPECT_EQ(StdinFeed::open(folder() + "/nowhere", news()), std::nullopt);
}

// RUN-9: the file is bounded, and knows that its beginning is gone.
TEST_F(Stdin, long_stream_overwrites_what_was_read) {
  auto feed = StdinFeed::open(folder(), news());
  ASSERT_TRUE(feed);
  const std::string piece(1'000'003, 'x');
  std::uint64_t reported = 0;
  for (int i = 0; i < 40; ++i) {
    std::string marked = piece;
    marked.replace(0, 3, std::to_string(100 + i));
    write(marked, i == 39);
    feed->grow(news());
    ASSERT_EQ(read_all(*feed), marked) << i;
    if (const auto position = feed->take_report()) reported = *position;
    EXPECT_EQ(head_.is_whole, head_.written <= stdin_bytes);
  }
  EXPECT_TRUE(feed->is_at_end());
  EXPECT_GE(reported + 2 * piece.size(), feed->position());
  EXPECT_EQ(std::filesystem::file_size(scratch_.path() / "stdin"), stdin_bytes + stdin_head_bytes);
}

}  // namespace
}  // namespace reeve::keeper
