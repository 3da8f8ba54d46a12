#include "client/frames.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace reeve::client {
namespace {

std::string frame(char stream, std::string_view bytes) {
  std::string text(FrameDecoder::header_bytes, '\x7f');
  for (std::size_t i = 0; i < 4; ++i) text[i] = static_cast<char>(bytes.size() >> (8 * i) & 0xffU);
  text[4] = stream;
  return text.append(bytes);
}

std::string drain(FrameDecoder& decoder) {
  std::string all;
  while (const auto found = decoder.next()) {
    all += found->stream == model::Stream::out ? "o:" : "e:";
    all += found->bytes;
    all += '|';
  }
  return all;
}

// RUN-12, seen from the person's side: wherever the pieces are cut, the same bytes come out.
TEST(Frames, decode_at_any_split) {
  const std::string text = frame(0, "hello\n") + frame(1, "oops") + frame(0, "") + frame(0, std::string(300, 'x'));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    FrameDecoder decoder(0);
    decoder.add(std::string_view(text).substr(0, cut));
    std::string all = drain(decoder);
    EXPECT_LE(decoder.position(), cut) << "only whole frames are counted";
    decoder.add(std::string_view(text).substr(cut));
    all += drain(decoder);
    EXPECT_EQ(all, "o:hello\n|e:oops|o:|o:" + std::string(300, 'x') + "|");
    EXPECT_EQ(decoder.position(), text.size());
  }
}

TEST(Frames, resume_where_they_were_cut) {
  const std::string text = frame(0, "one") + frame(0, "two") + frame(0, "three");
  FrameDecoder first(0);
  first.add(std::string_view(text).substr(0, text.size() - 2));
  EXPECT_EQ(drain(first), "o:one|o:two|");
  FrameDecoder second(first.position());
  second.add(std::string_view(text).substr(first.position()));
  EXPECT_EQ(drain(second), "o:three|");
  EXPECT_EQ(second.position(), text.size());
}

// LOG-4: masked output has marks from which it can be read again.
TEST(Frames, mark_carries_a_position) {
  constexpr std::string_view position("\x2a\x01\0\0\0\0\0\0", 8);
  std::string mark = frame(1, position);
  mark[5] = 1;
  std::string text = frame(1, position);
  text[5] = 0;
  FrameDecoder decoder(0);
  decoder.add(mark + text);
  const auto first = decoder.next();
  ASSERT_TRUE(first && first->mark);
  EXPECT_EQ(*first->mark, 0x12aU);
  EXPECT_EQ(first->stream, model::Stream::err);
  const auto second = decoder.next();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->mark);
  EXPECT_EQ(second->bytes, position);
}

TEST(Frames, malformed_frame_is_rejected) {
  FrameDecoder decoder(16);
  decoder.add(std::string(FrameDecoder::header_bytes, '\xff'));
  EXPECT_THROW(decoder.next(), base::Error);
}

}  // namespace
}  // namespace reeve::client
