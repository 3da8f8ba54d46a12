#include "agents/protocol/sse_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Events = std::vector<std::string>;

Events read(std::string_view bytes) { return SseReader().on_bytes(bytes); }

TEST(SseReader, an_event_is_the_data_before_an_empty_line) {
  EXPECT_THAT(read("data: {\"a\":1}\n\n"), ElementsAre("{\"a\":1}"));
  EXPECT_THAT(read("data:one\n\ndata: two\n\n"), ElementsAre("one", "two"));
  EXPECT_THAT(read("data:  a blank stays\n\n"), ElementsAre(" a blank stays"));
  EXPECT_THAT(read("data: not finished\n"), IsEmpty());
}

TEST(SseReader, lines_of_data_are_joined) {
  EXPECT_THAT(read("data: a\ndata\ndata:b\n\n"), ElementsAre("a\n\nb"));
  EXPECT_THAT(read("data\n\n"), ElementsAre(""));
}

TEST(SseReader, comments_names_and_other_fields_are_skipped) {
  EXPECT_THAT(read(": comment\nevent: message\nid: 7\nretry: 10\ndatas: no\ndata : no\ndata: yes\n\n"),
              ElementsAre("yes"));
  EXPECT_THAT(read(":\n\n\n\nevent: only a name\n\n"), IsEmpty());
}

TEST(SseReader, all_line_ends_are_read) {
  EXPECT_THAT(read("data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(read("\xef\xbb\xbf"
                   "data: a\n\n"),
              ElementsAre("a"));
}

TEST(SseReader, a_stream_may_be_split_anywhere) {
  const std::string stream = ": hello\r\ndata: {\"text\":\"ä\"}\r\ndata: more\r\n\r\ndata: b\n\ndata: c\r\r";
  const Events whole = read(stream);
  ASSERT_THAT(whole, ElementsAre("{\"text\":\"ä\"}\nmore", "b", "c"));
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); second += 3) {
      SseReader reader;
      Events events;
      for (const std::string_view part :
           {std::string_view(stream).substr(0, first), std::string_view(stream).substr(first, second - first),
            std::string_view(stream).substr(second)}) {
        for (std::string& event : reader.on_bytes(part)) events.push_back(std::move(event));
      }
      EXPECT_EQ(events, whole) << first << ", " << second;
    }
  }
}

TEST(SseReader, a_large_event_ends_the_stream) {
  const auto fault_of = [](const std::vector<std::string>& parts) {
    SseReader reader(16);
    for (const std::string& part : parts) reader.on_bytes(part);
    EXPECT_THAT(reader.on_bytes("\n\ndata: a\n\n"), IsEmpty());
    return reader.fault();
  };
  EXPECT_THAT(fault_of({"data: 12345678901"}), HasSubstr("larger than 16 bytes"));
  EXPECT_THAT(fault_of({"data: 123456", "78901"}), HasSubstr("larger"));
  EXPECT_THAT(fault_of({"data:123456789\n", "data:1234567\n"}), HasSubstr("larger"));
  EXPECT_THAT(fault_of({": a comment without an end"}), HasSubstr("larger"));
  SseReader reader(16);
  EXPECT_THAT(reader.on_bytes("data:1234567\ndata:1234567\n\n"), ElementsAre("1234567\n1234567"));
  EXPECT_THAT(reader.fault(), IsEmpty());
}

}  // namespace
}  // namespace reeve::agents
