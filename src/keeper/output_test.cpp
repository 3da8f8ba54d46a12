#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>

#include "keeper/output_reader.h"
#include "keeper/output_writer.h"
#include "tests/support/files.h"

namespace reeve::keeper {
namespace {

namespace fs = std::filesystem;

void print(OutputWriter& writer, std::string_view text, std::uint8_t stream = 0) {
  ASSERT_LE(text.size(), writer.room().size());
  std::memcpy(writer.room().data(), text.data(), text.size());
  writer.append(stream, text.size(), 1);
}

std::string read_all(OutputReader& reader) {
  std::string text;
  while (const auto frame = reader.next()) text.append(frame->bytes);
  return text;
}

struct Output {
  testing::ScratchFolder place;
  os::Folder folder = os::Folder::open(place.path().string());
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(place.path()), fs::directory_iterator()));
  }
};

// RUN-12.
TEST(Output, can_be_read_while_written) {
  Output output;
  OutputReader reader(output.folder);
  EXPECT_FALSE(reader.next()) << "before there is any output";
  OutputWriter writer(output.folder, 1U << 30U);
  print(writer, "one");
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->bytes, "one");
  EXPECT_EQ(frame->position, 0U);
  EXPECT_FALSE(reader.next());
  print(writer, "two", 1);
  const auto second = reader.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->header.stream, 1);
  EXPECT_EQ(second->payload_position(), 16U + 3 + 16);
  EXPECT_EQ(reader.position(), writer.position());
}

TEST(Output, any_position_leads_to_the_frame_that_holds_it) {
  Output output;
  OutputWriter writer(output.folder, 4U << 20U);
  std::vector<std::uint64_t> starts;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    starts.push_back(writer.position());
    print(writer, std::string(1 + random() % 20'000, 'a'));
    writer.consume(0);
    ASSERT_TRUE(writer.is_ready());
  }
  EXPECT_GT(output.files(), 3U) << "across several files";
  for (std::uint64_t position = 0; position < writer.position(); position += 997) {
    OutputReader reader(output.folder);
    ASSERT_TRUE(reader.seek(position));
    const auto frame = reader.next();
    ASSERT_TRUE(frame) << position;
    EXPECT_LE(frame->position, position);
    EXPECT_GT(frame->end(), position);
    EXPECT_TRUE(std::ranges::find(starts, frame->position) != starts.end());
  }
}

// A keeper that was killed during a write.
TEST(Output, a_torn_frame_ends_the_readable_part) {
  Output output;
  OutputWriter writer(output.folder, 1U << 30U);
  print(writer, "whole");
  print(writer, "torn");
  const fs::path file = output.place.path() / segment_name(0);
  const auto size = fs::file_size(file);
  for (std::uintmax_t cut = 1; cut < 20; ++cut) {
    fs::resize_file(file, size - cut);
    OutputReader reader(output.folder);
    EXPECT_EQ(read_all(reader), "whole") << cut;
    EXPECT_EQ(reader.position(), 21U);
  }
}

// RUN-12: beyond the cap the oldest output is dropped, but never output that has not been consumed.
TEST(Output, blocks_until_read_then_drops_the_oldest) {
  Output output;
  constexpr std::uint64_t cap = 1U << 20U;
  OutputWriter writer(output.folder, cap);
  const std::string text(60'000, 'x');
  int printed = 0;
  while (writer.is_ready()) {
    print(writer, text);
    ++printed;
    ASSERT_LT(printed, 1'000);
  }
  EXPECT_LE(writer.position(), cap);
  EXPECT_FALSE(writer.is_ready()) << "blocked";
  writer.consume(writer.position() / 2);
  ASSERT_TRUE(writer.is_ready());
  print(writer, "new");
  OutputReader reader(output.folder);
  reader.seek(0);
  EXPECT_GT(reader.position(), 0U) << "the gap is visible";
  EXPECT_TRUE(read_all(reader).ends_with("new"));
}

TEST(Output, overtaken_reader_continues_after_the_gap) {
  Output output;
  OutputWriter writer(output.folder, 1U << 20U);
  const std::string text(60'000, 'x');
  print(writer, text);
  OutputReader slow(output.folder);
  ASSERT_TRUE(slow.next());
  for (int i = 0; i < 200; ++i) {
    writer.consume(writer.position());
    ASSERT_TRUE(writer.is_ready());
    print(writer, text);
  }
  std::uint64_t last = 0;
  int frames = 0;
  while (const auto frame = slow.next()) {
    EXPECT_GT(frame->position, last);
    last = frame->position;
    ++frames;
  }
  EXPECT_EQ(slow.position(), writer.position());
  EXPECT_LT(frames, 200);
}

}  // namespace
}  // namespace reeve::keeper
