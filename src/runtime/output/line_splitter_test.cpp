#include "runtime/output/line_splitter.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;

struct Got {
  std::uint64_t position;
  std::string text;
  bool is_partial;
  bool is_continuation;
  std::uint64_t end;
  friend bool operator==(const Got&, const Got&) = default;
};
void PrintTo(const Got& got, std::ostream* out) {
  *out << got.position << " `" << got.text << "` " << got.is_partial << got.is_continuation << " " << got.end;
}

class Collector {
 public:
  explicit Collector(std::size_t max_bytes = LineSplitter::default_max_bytes)
      : splitter([this](const Line& line) { take(line); }, max_bytes) {}

  std::vector<Got> lines;
  LineSplitter splitter;

 private:
  void take(const Line& line) {
    lines.push_back({line.position, std::string(line.text), line.is_partial, line.is_continuation, line.end});
  }
};

TEST(LineSplitter, delivers_lines_with_their_positions) {
  Collector all;
  all.splitter.feed(100, "one\n\ntwo\r\nth\rree\r");
  EXPECT_THAT(all.lines, ElementsAre(Got{100, "one", false, false, 104}, Got{104, "", false, false, 105},
                                     Got{105, "two", false, false, 110}));
  EXPECT_EQ(all.splitter.consumed(), 110);
  // A frame of the other stream is in between.
  all.splitter.feed(200, "\nfour");
  EXPECT_EQ(all.lines.back(), (Got{110, "th\rree", false, false, 201}));
  EXPECT_EQ(all.splitter.consumed(), 201);
  all.splitter.finish();
  EXPECT_EQ(all.lines.back(), (Got{201, "four", false, false, 205}));
  EXPECT_EQ(all.splitter.consumed(), 205);
  all.splitter.finish();
  EXPECT_EQ(all.lines.size(), 5);
}

TEST(LineSplitter, does_not_copy_a_line_within_one_chunk) {
  const std::string bytes = "a line\nanother\n";
  std::vector<const char*> places;
  LineSplitter splitter([&](const Line& line) { places.push_back(line.text.data()); });
  splitter.feed(0, bytes);
  EXPECT_THAT(places, ElementsAre(bytes.data(), bytes.data() + 7));
}

TEST(LineSplitter, takes_one_byte_at_a_time) {
  Collector all;
  const std::string bytes = "ab\r\ncd\n";
  for (std::size_t i = 0; i < bytes.size(); ++i) all.splitter.feed(10 * i, std::string_view(bytes).substr(i, 1));
  EXPECT_THAT(all.lines, ElementsAre(Got{0, "ab", false, false, 31}, Got{40, "cd", false, false, 61}));
}

// RUN-16
TEST(LineSplitter, splits_a_long_line) {
  for (const std::size_t step : {1U, 3U, 8U, 9U, 100U}) {
    Collector all(8);
    const std::string bytes = "0123456789abcdefXYZ\n12345678\nrest";
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      all.splitter.feed(i, std::string_view(bytes).substr(i, step));
    }
    all.splitter.finish();
    EXPECT_THAT(all.lines, ElementsAre(Got{0, "01234567", true, false, 8}, Got{8, "89abcdef", true, true, 16},
                                       Got{16, "XYZ", false, true, 20}, Got{20, "12345678", false, false, 29},
                                       Got{29, "rest", false, false, 33}))
        << step;
  }
}

TEST(LineSplitter, cuts_between_characters) {
  for (const std::size_t step : {1U, 2U, 5U, 100U}) {
    Collector all(8);
    const std::string bytes = "123456€9\n1234567\xF0\x9F\x99\x82\n1234567\x80\x80\x80\x80\x80\x80\n";
    // Gaps between frames: a position is ten times the number of the frame and the offset in it.
    std::size_t frame = 0;
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      all.splitter.feed(1000 * frame++, std::string_view(bytes).substr(i, step));
    }
    std::vector<std::string> texts;
    for (const Got& got : all.lines) texts.push_back(got.text);
    EXPECT_THAT(texts,
                ElementsAre("123456", "€9", "1234567", "\xF0\x9F\x99\x82", "1234567\x80", "\x80\x80\x80\x80\x80"))
        << step;
    const auto position_of = [&](std::size_t offset) { return 1000 * (offset / step) + offset % step; };
    EXPECT_EQ(all.lines[0].end, position_of(5) + 1);
    EXPECT_EQ(all.lines[1].position, position_of(6));
    EXPECT_EQ(all.lines[3].position, position_of(18));
  }
}

TEST(LineSplitter, split_line_continues_at_the_position_to_reread) {
  Collector all(8);
  all.splitter.feed(0, "1234567");
  all.splitter.feed(100, "\xE2\x82");
  EXPECT_EQ(all.lines.back(), (Got{0, "1234567", true, false, 7}));
  EXPECT_EQ(all.splitter.consumed(), 100);
  all.splitter.feed(200, "\xAC\n");
  EXPECT_EQ(all.lines.back(), (Got{100, "€", false, true, 202}));
}

TEST(LineSplitter, holds_no_more_than_the_longest_line) {
  std::size_t delivered = 0;
  LineSplitter splitter([&](const Line& line) {
    EXPECT_LE(line.text.size(), LineSplitter::default_max_bytes);
    delivered += line.text.size();
  });
  const std::string block(65'536, 'x');
  for (std::uint64_t i = 0; i < 100; ++i) {
    splitter.feed(i * block.size(), block);
    EXPECT_LE((i + 1) * block.size() - delivered, LineSplitter::default_max_bytes);
  }
  splitter.finish();
  EXPECT_EQ(delivered, 100 * block.size());
}

// However the stream is split into frames: the same lines, all bytes, and a reader that starts at `consumed` loses
// none.
RC_GTEST_PROP(LineSplitter, chunking_does_not_change_the_lines, ()) {
  const auto alphabet = std::string("ab\r\n\xC3\xA9\xE2\x82\xAC\x80 ");
  const auto bytes = *rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
  const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 12));
  const auto max_bytes = *rc::gen::inRange<std::size_t>(8, 20);
  Collector whole(max_bytes);
  whole.splitter.feed(0, bytes);
  Collector pieces(max_bytes);
  std::size_t at = 0;
  for (std::size_t i = 0; at < bytes.size(); ++i) {
    const std::string_view frame = std::string_view(bytes).substr(at, i < cuts.size() ? cuts[i] : 5);
    pieces.splitter.feed(at, frame);
    at += frame.size();
    const std::uint64_t again = pieces.splitter.consumed();
    RC_ASSERT(again == (pieces.lines.empty() ? 0 : pieces.lines.back().end));
  }
  whole.splitter.finish();
  pieces.splitter.finish();
  RC_ASSERT(pieces.lines == whole.lines);
  std::uint64_t next = 0;
  for (const Got& got : whole.lines) {
    RC_ASSERT(got.position == next);
    RC_ASSERT(got.text.size() <= max_bytes);
    RC_ASSERT(std::string_view(bytes).substr(got.position, got.text.size()) == got.text);
    next = got.end;
  }
  RC_ASSERT(next == bytes.size());
}

}  // namespace
}  // namespace reeve::runtime
