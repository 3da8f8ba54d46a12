#include <gtest/gtest.h>

#include "keeper/frame.h"
#include "keeper/message.h"
#include "keeper/packing.h"
#include "keeper/records.h"

namespace reeve::keeper {
namespace {

using Header = std::array<char, frame_header_bytes>;

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += digits[value / 16];
    hex += digits[value % 16];
  }
  return hex;
}

TEST(Frame, header_round_trips) {
  const FrameHeader header{.length = 1'234, .stream = 1, .flags = 0, .unix_ns = 1'700'000'000'123'456'789};
  Header bytes{};
  write_header(header, bytes);
  EXPECT_EQ(read_header(bytes), header);
}

// DESIGN "Output": an invalid header ends the readable part.
TEST(Frame, any_flipped_bit_is_detected) {
  Header bytes{};
  write_header({.length = 77, .stream = 0, .flags = 0, .unix_ns = 5}, bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Header broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(read_header(broken)) << bit;
  }
  EXPECT_FALSE(read_header(Header{})) << "a hole in the file";
}

TEST(Frame, segment_names_encode_their_position) {
  EXPECT_EQ(segment_name(0), "out-0000000000000000");
  EXPECT_EQ(segment_name(0xfffe0), "out-00000000000fffe0");
  EXPECT_EQ(segment_position("out-00000000000fffe0"), 0xfffe0U);
  for (const char* name : {"out-", "out-xyz", "out-00000000000fffe0.new", "exit", "out-00000000000fffeg"}) {
    EXPECT_FALSE(segment_position(name)) << name;
  }
}

TEST(Packing, value_bytes_of_an_absent_optional_are_ignored) {
  Packer packer;
  packer.put(std::uint8_t{0}).put(std::int32_t{7});
  std::optional<std::int32_t> value = 5;
  EXPECT_TRUE(Unpacker(packer.bytes()).get(value).is_whole());
  EXPECT_FALSE(value);
}

TEST(Records, round_trip) {
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

// A daemon reads the records that keepers and daemons of other versions wrote.
TEST(Records, bytes_never_change) {
  ExitRecord exit{
      .nonce = "n", .code = 3, .ended_by = EndedBy::stop, .unix_ns = 9, .output_begin = 5, .output_end = 77};
  exit.descendants = {"12 sleep"};
  EXPECT_EQ(to_hex(encode_exit(exit)),
            "525645314479b23a94c51a2b"
            "010000006e"
            "010300000000000000000000000000"
            "00010900000000000000"
            "05000000000000004d00000000000000"
            "0100000008000000313220736c65657001");
  const Launch launch{.argv = {"a", ""}, .environment = {"A=b"}, .folder = "/", .has_prompt = true, .settings = "{}"};
  EXPECT_EQ(to_hex(encode_launch(launch)),
            "52564c31caa7c4d8336c5684"
            "02000000010000006100000000"
            "0100000003000000413d62"
            "010000002f"
            "01020000007b7d");
  EXPECT_EQ(to_hex(encode_marker({.nonce = "n", .pid = 7, .started = 8, .cgroup = "/g"})),
            "52564d310998d95e100cbd8a"
            "010000006e"
            "070000000800000000000000"
            "020000002f67");
}

// Values from a later version are not mistaken for others.
TEST(Records, unknown_enumerators_are_rejected) {
  EXPECT_TRUE(decode_exit(encode_exit({.nonce = "n", .code = 0, .ended_by = EndedBy::signal})));
  EXPECT_FALSE(decode_exit(encode_exit({.nonce = "n", .code = 0, .ended_by = static_cast<EndedBy>(5)})));
  EXPECT_TRUE(decode_to_keeper(encode(ToKeeper(Assign{.mode = Assign::Mode::stream}))));
  EXPECT_FALSE(decode_to_keeper(encode(ToKeeper(Assign{.mode = static_cast<Assign::Mode>(3)}))));
  EXPECT_TRUE(decode_from_keeper(encode(FromKeeper(Prompt{.certainty = Prompt::Certainty::probable}))));
  EXPECT_FALSE(decode_from_keeper(encode(FromKeeper(Prompt{.certainty = static_cast<Prompt::Certainty>(2)}))));
}

// A file that was only partly written before a power failure counts as missing.
TEST(Records, truncated_or_altered_record_is_rejected) {
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
  EXPECT_FALSE(decode_launch(whole)) << "another record type";
}

TEST(Message, messages_round_trip) {
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
TEST(Message, prompt_and_answer_round_trip) {
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

// A daemon talks to keepers of other versions.
TEST(Message, bytes_to_the_keeper_never_change) {
  Assign assign{.run_folder = "/r", .attempt_folder = "/r/1", .nonce = "n", .mode = Assign::Mode::pty};
  assign.rows = 258;
  assign.keep_descendants = true;
  assign.deadline_ns = 7;
  assign.lease_ns = -2;
  assign.environment = {"A=1", ""};
  assign.words = {"w"};
  assign.open_files = 1'024;
  assign.cgroup_parent = "/g";
  EXPECT_EQ(to_hex(encode(ToKeeper(assign))),
            "00"
            "020000002f72"
            "040000002f722f31"
            "010000006e"
            "01"
            "0201"
            "5000"
            "88130000"
            "01"
            "0000004000000000"
            "0700000000000000"
            "feffffffffffffff"
            "02000000"
            "03000000413d31"
            "00000000"
            "01000000"
            "0100000077"
            "00000000"
            "0004000000000000"
            "020000002f67");
  EXPECT_EQ(to_hex(encode(ToKeeper(Go{}))), "01");
  EXPECT_EQ(to_hex(encode(ToKeeper(Consumed{258}))), "020201000000000000");
  EXPECT_EQ(to_hex(encode(ToKeeper(Input{1, "a"}))), "03010000000100000061");
  EXPECT_EQ(to_hex(encode(ToKeeper(CloseInput{}))), "04");
  EXPECT_EQ(to_hex(encode(ToKeeper(Resize{1, 2}))), "0501000200");
  EXPECT_EQ(to_hex(encode(ToKeeper(Signal{15}))), "060f000000");
  EXPECT_EQ(to_hex(encode(ToKeeper(Stop{7}))), "0707000000");
  EXPECT_EQ(to_hex(encode(ToKeeper(Deadline{-1}))), "08ffffffffffffffff");
  EXPECT_EQ(to_hex(encode(ToKeeper(Lease{1}))), "090100000000000000");
  EXPECT_EQ(to_hex(encode(ToKeeper(Answer{.number = 3, .serial = 7, .bytes = "y\r"}))),
            "0a"
            "0300000000000000"
            "07000000"
            "02000000790d");
  EXPECT_EQ(to_hex(encode(ToKeeper(InputLine{.ticket = 1, .offset = 2, .part = "a", .is_last = true}))),
            "0e"
            "01000000"
            "02000000"
            "0100000061"
            "01");
  EXPECT_EQ(to_hex(encode(ToKeeper(StartIn{.root = "/r", .name = "s", .device = 1, .inode = 2}))),
            "0f"
            "020000002f72"
            "0100000073"
            "0100000000000000"
            "0200000000000000");
}

TEST(Message, bytes_from_the_keeper_never_change) {
  EXPECT_EQ(to_hex(encode(FromKeeper(Hello{1, 2}))), "00010000000200000000000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(Started{1, 2}))), "01010000000200000000000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(Grew{3}))), "020300000000000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(InputTaken{3, true}))), "030300000001");
  EXPECT_EQ(to_hex(encode(FromKeeper(Trouble{28}))), "041c000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(Exited{}))), "05");
  const Prompt prompt{
      .serial = 7, .certainty = Prompt::Certainty::probable, .is_secret = true, .position = 1ULL << 40U};
  EXPECT_EQ(to_hex(encode(FromKeeper(prompt))),
            "06"
            "07000000"
            "01"
            "01"
            "0000000000010000");
  EXPECT_EQ(to_hex(encode(FromKeeper(PromptOver{9}))), "0709000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(AnswerTaken{3, false}))), "08030000000000000000");
  EXPECT_EQ(to_hex(encode(FromKeeper(TakesInputLines{}))), "0c");
  EXPECT_EQ(to_hex(encode(FromKeeper(InputLineTaken{3, InputLineTaken::Outcome::closed}))), "0d0300000002");
  EXPECT_EQ(to_hex(encode(FromKeeper(Resized{258, 2}))), "0e02010200");
}

TEST(Message, any_nonzero_flag_byte_means_true) {
  std::string bytes = encode(FromKeeper(InputTaken{3, false}));
  bytes.back() = '\x02';
  const auto taken = decode_from_keeper(bytes);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(std::get<InputTaken>(*taken).is_taken);
}

TEST(Message, truncated_messages_are_rejected) {
  const std::string answer = encode(ToKeeper(Answer{.number = 3, .serial = 7, .bytes = "y"}));
  for (std::size_t length = 0; length < answer.size(); ++length) {
    EXPECT_FALSE(decode_to_keeper(std::string_view(answer).substr(0, length))) << length;
  }
  const std::string prompt = encode(FromKeeper(Prompt{.serial = 7}));
  for (std::size_t length = 0; length < prompt.size(); ++length) {
    EXPECT_FALSE(decode_from_keeper(std::string_view(prompt).substr(0, length))) << length;
  }
}

TEST(Message, malformed_messages_are_rejected) {
  EXPECT_FALSE(decode_to_keeper(""));
  EXPECT_FALSE(decode_to_keeper("\xff"));
  EXPECT_FALSE(decode_to_keeper("\x0b")) << "one more than the last kind";
  EXPECT_FALSE(decode_from_keeper(""));
  EXPECT_FALSE(decode_from_keeper("\x09")) << "one more than the last kind";
  EXPECT_FALSE(decode_to_keeper(encode(ToKeeper(Go{})) + "x"));
  std::string huge = encode(ToKeeper(Input{1, "abc"}));
  huge[5] = huge[6] = huge[7] = huge[8] = '\xff';
  EXPECT_FALSE(decode_to_keeper(huge)) << "a length beyond the data";
}

}  // namespace
}  // namespace reeve::keeper
