#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Agents that call tools by printed lines: `mode: stream` and `speaks: reeve` (TOOL-4). Each line gets one answer on
// standard input.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;

class ToolCallLines : public testing::ToolCallsTest {
 protected:
  ToolCallLines() {
    configure(
        "tools:\n"
        "  lines: {command: [/bin/sh, -c], mode: stream, speaks: reeve}\n"
        "  stream: {command: [/bin/sh, -c], mode: stream}\n"
        "  pipes: {command: [/bin/sh, -c]}\n"
        "policies:\n"
        "  tools:\n"
        "    file_write:\n"
        "      - {policy: auto_approve, when: {path: 'free/**'}}\n"
        "      - {policy: deny, when: {path: 'closed/**'}}\n");
    for (const char* folder : {"free", "closed", "asked"}) fs::create_directory(project() / folder);
  }

  // Shell: `use ID TOOL ARGUMENTS` prints a call; `hear` reads an answer and prints it after `got`.
  static std::string speak(const std::string& script) {
    return "use() { printf '{\"event\":\"tool_use\",\"id\":\"%s\",\"tool\":\"%s\",\"arguments\":%s}\\n' \"$@\"; }\n"
           "hear() { IFS= read -r answer && printf 'got %s\\n' \"$answer\"; }\n" +
           script;
  }
  static std::string write_call(const std::string& id, const std::string& path) {
    return fmt::format("use {} file_write '{{\"path\":\"{}\",\"content\":\"{}\"}}'\n", id, path, id);
  }
  std::string content(const std::string& path) const { return testing::read_text(project() / path); }
};

TEST_F(ToolCallLines, printed_call_gets_its_result_on_standard_input) {
  const std::string run =
      begin(speak(write_call("c1", "free/a") + "hear; use c2 file_read '{\"path\":\"free/a\"}'; hear"), "lines");
  expect_completed(run);
  EXPECT_EQ(content("free/a"), "c1");
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"(got {"event":"tool_result","id":"c1","content":)"),
                               HasSubstr(R"(got {"event":"tool_result","id":"c2","content":)")));
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["channel"], "line");
  EXPECT_EQ(call["outcome"], "ran");
}

TEST_F(ToolCallLines, denied_call_gets_an_error_and_runs_nothing) {
  const std::string run = begin(speak(write_call("c1", "closed/a") + "hear; echo after"), "lines");
  expect_completed(run);
  EXPECT_FALSE(fs::exists(project() / "closed/a"));
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"(got {"event":"tool_error","id":"c1",)"), HasSubstr(R"("denied":true)"),
                               HasSubstr("after\n")));
  EXPECT_EQ(call_of(run, "c1")["outcome"], "denied");
}

// TOOL-4, APR-8
TEST_F(ToolCallLines, answers_of_a_person_reach_the_agent) {
  const std::string run =
      begin(speak(write_call("c1", "asked/a") + "hear; " + write_call("c2", "asked/b") + "hear"), "lines");
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  wait_for_output(run, R"(got {"event":"tool_result","id":"c1")");
  EXPECT_EQ(reject(wait_for_question(run), {"--comment", "not there"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(content("asked/a"), "c1");
  EXPECT_FALSE(fs::exists(project() / "asked/b"));
  EXPECT_THAT(logs(run), HasSubstr("not there"));
}

// Each answer names its call; a call that waits holds up no other.
TEST_F(ToolCallLines, several_calls_wait_at_once) {
  const std::string run = begin(speak(write_call("c1", "asked/a") + write_call("c2", "free/b") + "hear; " +
                                      write_call("c3", "asked/c") + "hear; hear"),
                                "lines");
  const std::vector<Members> waiting = wait_for_waiting(run, 2);
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_THAT(logs(run), HasSubstr(R"(got {"event":"tool_result","id":"c2")"));
  for (const Members& call : waiting) EXPECT_EQ(approve(call.at("approval_id")).code, 0);
  expect_completed(run);
  for (const char* path : {"asked/a", "free/b", "asked/c"}) EXPECT_TRUE(fs::exists(project() / path)) << path;
}

// TOOL-4: a line that merely looks like a call is output.
TEST_F(ToolCallLines, line_of_a_tool_that_does_not_speak_reeve_is_plain_output) {
  for (const char* tool : {"stream", "pipes"}) {
    const std::string run = begin(speak(write_call("c1", "free/a") + "echo went on"), tool);
    expect_completed(run);
    EXPECT_THAT(logs(run), AllOf(HasSubstr("file_write"), HasSubstr("went on\n")));
    EXPECT_THAT(calls_of(run), IsEmpty()) << tool;
    EXPECT_FALSE(fs::exists(project() / "free/a"));
  }
}

TEST_F(ToolCallLines, unusable_calls_get_an_error) {
  const std::string run =
      begin(speak("use c1 no_such_tool '{}'; hear; use c2 file_write '{\"path\":7}'; hear; use c3 file_write '[]'\n"
                  "echo '{\"event\":\"tool_use\",\"tool\":\"file_write\"}'; echo '{\"event\":\"tool_use\"'; " +
                  write_call("c4", "free/a") + "hear; hear; hear; echo end"),
            "lines");
  expect_completed(run);
  EXPECT_EQ(testing::count_of(logs(run), R"(got {"event":"tool_error")"), 4) << logs(run);
  EXPECT_EQ(content("free/a"), "c4");
}

// APR-13
TEST_F(ToolCallLines, answer_arrives_although_the_daemon_was_killed_meanwhile) {
  const std::string run = begin(speak(write_call("c1", "asked/a") + "hear; hear; echo more"), "lines");
  const std::string question = wait_for_question(run);
  kill_daemon();
  EXPECT_EQ(approve(question).code, 0);
  wait_for_output(run, R"(got {"event":"tool_result","id":"c1")");
  EXPECT_EQ(content("asked/a"), "c1");
  EXPECT_EQ(question_count(run), 1);
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
  EXPECT_EQ(testing::count_of(logs(run), "got "), 1) << "the answer came once";
}

// What is printed while no daemon runs is decided by the next one.
TEST_F(ToolCallLines, call_printed_without_a_daemon_is_answered_later) {
  const std::string run =
      begin(speak("echo up; wait_file go; " + write_call("c1", "free/a") + write_call("c2", "closed/b") + "hear; hear"),
            "lines");
  wait_for_output(run, "up");
  kill_daemon();
  let("go");
  expect_completed(run);
  EXPECT_EQ(content("free/a"), "c1");
  EXPECT_FALSE(fs::exists(project() / "closed/b"));
  EXPECT_EQ(calls_of(run).size(), 2U);
}

}  // namespace
}  // namespace reeve
