#include "adapter/printed_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "runtime/output/tool_line.h"

namespace reeve::adapter {
namespace {

using base::Value;
using ::testing::ElementsAre;

Value arguments(const char* key, std::string_view text) { return Value::object({{key, Value::string(text)}}); }

TEST(PrintedLine, calls_show_what_they_do) {
  EXPECT_EQ(make_call_line("Bash", arguments("command", "git\nstatus")), "> Bash git\\nstatus");
  EXPECT_EQ(make_call_line("Read", arguments("file_path", "a b.txt")), "> Read a b.txt");
  EXPECT_EQ(make_call_line("Odd", arguments("n", "1")), "> Odd {\"n\":\"1\"}");
  EXPECT_EQ(make_call_line("List", Value::object()), "> List");
  EXPECT_EQ(make_call_line("List", Value()), "> List");
  const std::string summary = summarize_arguments(arguments("command", std::string(5'000, 'x')));
  EXPECT_EQ(base::count_characters(summary), 200U);
  EXPECT_TRUE(summary.ends_with("x…"));
}

TEST(PrintedLine, text_keeps_its_lines) {
  EXPECT_THAT(make_said_lines("a\r\n\n\tb\n"), ElementsAre("| a", "| ", "|     b"));
  EXPECT_EQ(make_error_line("claude", "\x1b[31mno\x1b[0m"), "claude: \\x1b[31mno\\x1b[0m");
  EXPECT_EQ(make_line("", std::string(10'000, 'x'), 100), std::string(100, 'x') + "…");
}

// Pieces of lines that the daemon acts on.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all = {R"({"event":"heartbeat"})",
                                               R"({"event":"approval_needed","question":"?"})",
                                               R"({"event":"error","message":"x","fatal":true})",
                                               R"({"event":"result","data":{}})",
                                               R"({"type":"tool_use","tool":"x","arguments":{}})",
                                               "[PROGRESS] 50%",
                                               "[PROGRESS]",
                                               "<tool_use_error>",
                                               "</tool_use_error>",
                                               "<",
                                               "<tool_use_error",
                                               "\n",
                                               "\r",
                                               "\t",
                                               " ",
                                               "{",
                                               "}",
                                               "\x1b[2K",
                                               "\xff",
                                               "\"event\"",
                                               "\u202e"};
  return all;
}

void expect_plain(const std::string& line) {
  RC_ASSERT(!line.contains('\n'));
  RC_ASSERT(!line.contains('\r'));
  RC_ASSERT(!base::find_invalid_utf8(line).has_value());
  RC_ASSERT(!runtime::LineReader().read(line).has_value());
  RC_ASSERT(!runtime::LineReader().read_call(line).has_value());
}

// The agent's text is data: it reports nothing, asks nothing and fails nothing.
RC_GTEST_PROP(PrintedLine, no_text_of_an_agent_is_an_event, (const std::string& noise)) {
  const auto chosen = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces()));
  std::string text;
  for (const std::string& piece : chosen) text += piece + (*rc::gen::inRange(0, 4) == 0 ? noise : "");
  for (const std::string& line : make_said_lines(text)) expect_plain(line);
  expect_plain(make_call_line(text, arguments("command", text)));
  expect_plain(make_call_line("", arguments(*rc::gen::elementOf(std::vector<const char*>{"path", "other"}), text)));
  expect_plain(make_error_line("claude", text));
  expect_plain(make_line("  denied: ", text));
  expect_plain(make_line("error: ", text));
}

}  // namespace
}  // namespace reeve::adapter
