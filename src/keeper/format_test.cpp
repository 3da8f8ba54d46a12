#include <gtest/gtest.h>

#include "keeper/frame.h"
#include "keeper/message.h"
#include "keeper/records.h"

namespace reeve::keeper {
namespace {

using Header = std::array<char, frame_header_bytes>;

TEST(Frame, a_header_is_read_as_it_was_written) {
  const FrameHeader header{.length = 1'234, .stream = 1, .flags = 0, .unix_ns = 1'700'000'000'123'456'789};
  Header bytes{};
  write_header(header, bytes);
  EXPECT_EQ(read_header(bytes), header);
}

// DESIGN «Output»: a bad header ends the readable part.
TEST(Frame, no_single_bit_may_differ) {
  Header bytes{};
  write_header({.length = 77, .stream = 0, .flags = 0, .unix_ns = 5}, bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Header broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read_header(broken)) << bit;
  }
  EXPECT_FALSE(read_header(Header{})) << "a hole in the file";
}

TEST(Frame, segments_are_named_by_their_position) {
  EXPECT_EQ(segment_name(0), "out-0000000000000000");
  EXPECT_EQ(segment_name(0xfffe0), "out-00000000000fffe0");
  EXPECT_EQ(segment_position("out-00000000000fffe0"), 0xfffe0U);
  for (const char* name : {"out-", "out-xyz", "out-00000000000fffe0.new", "exit", "out-00000000000fffeg"}) {
    EXPECT_FALSE(segment_position(name)) << name;
  }
}

TEST(Records, are_read_as_they_were_written) {
  ExitRecord exit{
      .nonce = "abc", .code = 3, .ended_by = EndedBy::stop, .unix_ns = 9, .output_begin = 5, .output_end = 77};
  exit.descendants = {"12 sleep", "13 x y"};
  exit.is_tree_gone = false;
  EXPECT_EQ(decode_exit(encode_exit(exit)), exit);
  const Launch launch{.argv = {"a", "", "c d"}, .environment = {"A=b"}, .folder = "/", .has_prompt = true};
  const auto read = decode_launch(encode_launch(launch));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->argv, launch.argv);
  EXPECT_EQ(read->environment, launch.environment);
  EXPECT_TRUE(read->has_prompt);
  const auto marker = decode_marker(encode_marker({.nonce = "n", .pid = 7, .started = 8, .cgroup = "/g"}));
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->started, 8U);
}

// What a later version may say is not taken for something else.
TEST(Records, words_that_no_version_has_said_are_refused) {
  EXPECT_TRUE(decode_exit(encode_exit({.nonce = "n", .code = 0, .ended_by = EndedBy::signal})));
  EXPECT_FALSE(decode_exit(encode_exit({.nonce = "n", .code = 0, .ended_by = static_cast<EndedBy>(5)})));
  EXPECT_TRUE(decode_to_keeper(encode(ToKeeper(Assign{.mode = Assign::Mode::stream}))));
  EXPECT_FALSE(decode_to_keeper(encode(ToKeeper(Assign{.mode = static_cast<Assign::Mode>(3)}))));
  EXPECT_TRUE(decode_from_keeper(encode(FromKeeper(Prompt{.certainty = Prompt::Certainty::probable}))));
  EXPECT_FALSE(decode_from_keeper(encode(FromKeeper(Prompt{.certainty = static_cast<Prompt::Certainty>(2)}))));
}

// One that a power cut left half written counts as missing.
TEST(Records, no_byte_may_be_missing_or_differ) {
  const std::string whole = encode_exit({.nonce = "abc", .signal = 9});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decode_exit(std::string_view(whole).substr(0, length))) << length;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string broken = whole;
    broken[i] = static_cast<char>(broken[i] ^ 1);
    EXPECT_FALSE(decode_exit(broken)) << i;
  }
  EXPECT_FALSE(decode_exit(whole + "x"));
  EXPECT_FALSE(decode_launch(whole)) << "another kind";
}

TEST(Message, is_read_as_it_was_sent) {
  Assign assign{.run_folder = "/r", .attempt_folder = "/r/1", .nonce = "n", .mode = Assign::Mode::pty};
  assign.keep_descendants = true;
  assign.environment = {"A=1", "B="};
  assign.output_cap = 5;
  assign.open_files = 1'024;
  const auto read = decode_to_keeper(encode(ToKeeper(assign)));
  ASSERT_TRUE(read);
  const auto& found = std::get<Assign>(*read);
  EXPECT_EQ(found.mode, Assign::Mode::pty);
  EXPECT_TRUE(found.keep_descendants);
  EXPECT_EQ(found.environment, assign.environment);
  EXPECT_EQ(found.open_files, 1'024U);
  EXPECT_EQ(std::get<Stop>(*decode_to_keeper(encode(ToKeeper(Stop{7})))).grace_ms, 7U);
  EXPECT_TRUE(std::get<InputTaken>(*decode_from_keeper(encode(FromKeeper(InputTaken{3, true})))).is_taken);
}

// RUN-10
TEST(Message, a_prompt_and_its_answer_are_read_as_they_were_sent) {
  const Prompt prompt{
      .serial = 7, .certainty = Prompt::Certainty::probable, .is_secret = true, .position = 1ULL << 40U};
  const auto told = std::get<Prompt>(*decode_from_keeper(encode(FromKeeper(prompt))));
  EXPECT_EQ(told.serial, 7U);
  EXPECT_EQ(told.certainty, Prompt::Certainty::probable);
  EXPECT_TRUE(told.is_secret);
  EXPECT_EQ(told.position, 1ULL << 40U);
  EXPECT_EQ(std::get<PromptOver>(*decode_from_keeper(encode(FromKeeper(PromptOver{9})))).serial, 9U);
  const auto answer =
      std::get<Answer>(*decode_to_keeper(encode(ToKeeper(Answer{.number = 3, .serial = 7, .bytes = "y\r"}))));
  EXPECT_EQ(answer.number, 3U);
  EXPECT_EQ(answer.serial, 7U);
  EXPECT_EQ(answer.bytes, "y\r");
  const auto taken = std::get<AnswerTaken>(*decode_from_keeper(encode(FromKeeper(AnswerTaken{3, true}))));
  EXPECT_EQ(taken.number, 3U);
  EXPECT_TRUE(taken.is_taken);
}

TEST(Message, what_is_none_is_refused) {
  EXPECT_FALSE(decode_to_keeper(""));
  EXPECT_FALSE(decode_to_keeper("\xff"));
  EXPECT_FALSE(decode_to_keeper(encode(ToKeeper(Go{})) + "x"));
  std::string huge = encode(ToKeeper(Input{1, "abc"}));
  huge[5] = huge[6] = huge[7] = huge[8] = '\xff';
  EXPECT_FALSE(decode_to_keeper(huge)) << "a length beyond the bytes";
}

}  // namespace
}  // namespace reeve::keeper
