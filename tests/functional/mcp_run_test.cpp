#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/tool_calls.h"

// `reeve mcp` inside a run of a real daemon: its own four tools, and what Claude Code says to it.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::SizeIs;
using testing::Words;

class McpRun : public testing::ToolCallsTest {
 protected:
  static std::string call(int id, const std::string& tool, const std::string& arguments) {
    return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}","arguments":{}}}}})",
                       id, tool, arguments);
  }
  // Shell: an agent that says these lines to the server, waits for an answer to each of these ids, and prints all.
  static std::string agent(const std::vector<std::string>& lines, const std::vector<std::string>& ids) {
    std::string text = "mkfifo in; '" + testing::reeve_binary() + "' mcp <in >out & exec 3>in\n";
    for (const std::string& line : lines) text += "printf '%s\\n' " + quoted(line) + " >&3\n";
    for (const std::string& id : ids) {
      text += "while ! grep -q " + quoted("\"id\":" + id + ",") + " out; do sleep 0.02; done\n";
    }
    return text + "exec 3>&-; wait; cat out; rm in out\n";
  }
  std::string begin_agent(const std::vector<std::string>& calls) const {
    std::vector<std::string> lines = {
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"};
    std::vector<std::string> ids;
    for (const std::string& line : calls) {
      lines.push_back(line);
      ids.push_back(std::to_string(ids.size() + 1));
    }
    return begin(agent(lines, ids));
  }
  // The answer to a request, from what the agent printed; `id` as it is written.
  Members answer(const std::string& run, const std::string& id) const {
    const std::string printed = logs(run);
    const std::string mark = "\"id\":" + id + ",";
    for (std::size_t begin = 0; begin < printed.size();) {
      const std::size_t end = std::min(printed.find('\n', begin), printed.size());
      const std::string line = printed.substr(begin, end - begin);
      if (line.contains(mark)) return testing::parse_object(line).value_or(Members());
      begin = end + 1;
    }
    ADD_FAILURE() << "no answer to " << id << ": " << printed;
    return {};
  }
  // The text of a tool's result.
  std::string result(const std::string& run, int id) const {
    return text_of(answer(run, std::to_string(id))["result"]);
  }
  static std::string text_of(const std::string& result) {
    Members members = testing::parse_object(result).value_or(Members());
    const Words content = testing::parse_array(members["content"]).value_or(Words());
    if (content.size() != 1) return "not one text: " + result;
    return testing::parse_object(content.front()).value_or(Members())["text"];
  }
};

TEST_F(McpRun, read_context_says_what_the_run_is_for) {
  const std::string run = begin_agent({call(1, "read_context", "{}")});
  expect_completed(run);
  Members context = testing::parse_object(result(run, 1)).value_or(Members());
  EXPECT_EQ(context["run"], run) << logs(run);
  EXPECT_EQ(context["agent"], "agent");
  EXPECT_EQ(context["folder"], project().string());
  EXPECT_EQ(context["attempt"], "1");
  for (const char* name : {"execution", "node", "role", "prompt", "project", "started_at"}) {
    EXPECT_TRUE(context.contains(name)) << name;
  }
}

TEST_F(McpRun, report_progress_is_in_the_record_of_the_run) {
  const std::string run = begin_agent({call(1, "report_progress", R"({"percent":40,"message":"half way"})")});
  expect_completed(run);
  EXPECT_EQ(result(run, 1), "noted");
  EXPECT_THAT(show(run)["progress"], AllOf(HasSubstr("40"), HasSubstr("half way")));
}

TEST_F(McpRun, ask_person_returns_the_answer_of_a_person) {
  const std::string run =
      begin_agent({call(1, "ask_person", R"({"question":"Where?","options":["staging","production"]})")});
  ASSERT_TRUE(testing::eventually([&] { return question_count(run) == 1; }));
  const std::string question = question_of(run);
  EXPECT_THAT(reeve({"show", question}).out, HasSubstr("Where?"));
  EXPECT_EQ(approve(question, {"--choice", "staging", "--comment", "carefully"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(result(run, 1), "staging (carefully)");
}

// The yes and the no of a person, in the words of Claude Code's permission prompt tool; the same id is the same call.
TEST_F(McpRun, approve_asks_a_person) {
  const auto prompt = [](int id, const std::string& native_id, const std::string& command) {
    return call(
        id, "approve",
        fmt::format(R"({{"tool_name":"Bash","input":{{"command":"{}"}},"tool_use_id":"{}"}})", command, native_id));
  };
  const std::string run = begin_agent({prompt(1, "toolu_1", "make all"), prompt(2, "toolu_2", "make clean")});
  const auto waiting = wait_for_waiting(run, 2);
  ASSERT_THAT(waiting, SizeIs(2));
  for (Members one : waiting) {
    if (one["native_id"] == "toolu_1") EXPECT_EQ(approve(one["approval_id"]).code, 0);
    if (one["native_id"] == "toolu_2") EXPECT_EQ(reject(one["approval_id"], {"--comment", "not yet"}).code, 0);
  }
  expect_completed(run);
  EXPECT_EQ(result(run, 1), R"({"behavior":"allow","updatedInput":{"command":"make all"}})");
  EXPECT_THAT(result(run, 2), AllOf(HasSubstr(R"("behavior":"deny")"), HasSubstr("not yet")));
  EXPECT_EQ(call_of(run, "toolu_1")["channel"], "mcp");
}

// A recorded session of Claude Code 2.1.325: what it says, `reeve mcp` answers with the members that it was happy with.
TEST_F(McpRun, recorded_session_of_claude_is_answered) {
  std::ifstream recorded(testing::source_folder() /
                         "tests/golden/agents/transcripts/claude-permission-prompt-tool.mcp-2026-07-28.jsonl");
  Words lines;
  Words ids;
  std::vector<Members> expected;
  for (std::string text; std::getline(recorded, text);) {
    Members entry = testing::parse_object(text).value_or(Members());
    Members message = testing::parse_object(entry["msg"]).value_or(Members());
    if (entry["dir"] == "out") {
      expected.push_back(message);
      continue;
    }
    lines.push_back(entry["msg"]);
    ids.push_back(message["id"] == "server-discover-probe-1" ? '"' + message["id"] + '"' : message["id"]);
  }
  ASSERT_THAT(lines, SizeIs(3));
  ASSERT_THAT(expected, SizeIs(3));
  const std::string run = begin(agent(lines, ids));
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Members told = testing::parse_object(answer(run, ids[i])["result"]).value_or(Members());
    for (const auto& [name, value] : testing::parse_object(expected[i]["result"]).value_or(Members())) {
      EXPECT_TRUE(told.contains(name)) << name << ", after " << lines[i];
      if (name == "resultType" || name == "supportedVersions" || name == "isError") EXPECT_EQ(told[name], value);
    }
  }
  EXPECT_THAT(answer(run, "0")["result"], HasSubstr(R"("name":"approve")"));
  const Members permission = testing::parse_object(result(run, 1)).value_or(Members());
  const Members recorded_one = testing::parse_object(text_of(expected[2]["result"])).value_or(Members());
  EXPECT_EQ(permission.at("behavior"), recorded_one.at("behavior"));
  EXPECT_EQ(testing::parse_object(permission.at("updatedInput")),
            testing::parse_object(recorded_one.at("updatedInput")));
}

}  // namespace
}  // namespace reeve
