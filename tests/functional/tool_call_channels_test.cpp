#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Every channel × every decision × every place at which the daemon can die: a command runs once if it was allowed, else
// never (TOOL-5, TOOL-9).
namespace reeve {
namespace {

using testing::Members;
using testing::Session;
using testing::Words;

enum class Decision { by_rule, by_person, rejected, denied };
using Case = std::tuple<const char*, Decision>;

class ToolCallChannels : public testing::ToolCallsTest, public ::testing::WithParamInterface<Case> {
 protected:
  ToolCallChannels() {
    const bool is_denied = std::get<1>(GetParam()) == Decision::denied;
    configure(
        fmt::format("tools:\n"
                    "  agent: {{command: [/bin/sh, -c], resume: live}}\n"
                    "  lines: {{command: [/bin/sh, -c], resume: live, mode: stream, speaks: reeve}}\n"
                    "policies:\n"
                    "  tools:\n"
                    "    shell_execute: {{policy: {}, when: {{argv: [{}]}}}}\n",
                    is_denied ? "deny" : "auto_approve", argv(is_denied ? "denied" : "by_rule")));
  }

  // JSON, and so YAML.
  std::string argv(const std::string& word) const { return fmt::format(R"(["/bin/sh","-c","{}"])", effect(word)); }

  // An agent that makes this one call on the channel, and says `allowed` or `denied`.
  std::string agent(const std::string& channel, const std::string& word) const {
    const std::string arguments = fmt::format(R"({{"argv":{}}})", argv(word));
    const std::string verdict = " && echo allowed || echo denied\n";
    if (channel == "socket") return "call c1 shell_execute " + quoted(arguments) + " --execute" + verdict;
    if (channel == "line") {
      return "echo " +
             quoted(R"({"event":"tool_use","id":"c1","tool":"shell_execute","arguments":)" + arguments + "}") +
             "\nIFS= read -r answer; echo \"$answer\" | grep -q '\"tool_result\"'" + verdict;
    }
    if (channel == "hook") {
      // The agent runs the command itself.
      const std::string command = fmt::format(R"(/bin/sh -c \"{}\")", effect(word));
      return "echo " +
             quoted(fmt::format(R"({{"hook_event_name":"PreToolUse","session_id":"s","cwd":"{}","tool_name":"Bash",)"
                                R"("tool_input":{{"command":"{}"}},"tool_use_id":"toolu_1"}})",
                                project().string(), command)) +
             " | '" + testing::reeve_binary() + "' hook claude | grep -q '\"permissionDecision\":\"allow\"' && " +
             effect(word) + verdict;
    }
    return "mkfifo in; '" + testing::reeve_binary() +
           "' mcp <in >out & exec 3>in\n"
           "echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
           "\"2025-06-18\"}}' >&3\n"
           "echo " +
           quoted(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell_execute","arguments":)" +
                  arguments + "}}") +
           " >&3\n"
           "while ! grep -q '\"id\":1,' out; do sleep 0.02; done; exec 3>&-; wait\n"
           "cat out; rm in; grep '\"id\":1,' out | grep -q '\"isError\":false'" +
           verdict;
  }

  static std::string word_of(Decision decision) {
    switch (decision) {
      case Decision::by_rule:
        return "by_rule";
      case Decision::by_person:
        return "by_person";
      case Decision::rejected:
        return "rejected";
      case Decision::denied:
        break;
    }
    return "denied";
  }

  // Where the daemon of such a call can die.
  static Words points_of(const std::string& channel, Decision decision) {
    Words points = {"call.before_store", "call.after_store"};
    if (decision == Decision::by_person || decision == Decision::rejected) points.emplace_back("approval.after_decide");
    const bool is_allowed = decision == Decision::by_rule || decision == Decision::by_person;
    if (is_allowed && channel != "hook") points.emplace_back("call.before_end");
    return points;
  }

  // A client that loses its daemon may report an error.
  void decide(const std::string& run, Decision decision) const {
    const std::string question = wait_for_question(run);
    EXPECT_TRUE(testing::eventually([&] {
      const int code = (decision == Decision::by_person ? approve(question) : reject(question)).code;
      return code == 0 || code == 4;
    }));
  }
};

TEST_P(ToolCallChannels, command_runs_once_if_it_was_allowed) {
  const auto& [channel, decision] = GetParam();
  const std::string word = word_of(decision);
  const bool asks = decision == Decision::by_person || decision == Decision::rejected;
  std::size_t expected = 0;
  for (const std::string& point : points_of(channel, decision)) {
    SCOPED_TRACE(point);
    auto daemon = serve_until(point);
    const std::string run = begin(agent(channel, word), std::string(channel) == "line" ? "lines" : "agent");
    // Before the question there is nothing to decide.
    if (point == "call.before_store" || point == "call.after_store") expect_killed(*daemon, point);
    if (asks) decide(run, decision);
    if (point == "call.before_end" || point == "approval.after_decide") expect_killed(*daemon, point);
    expect_completed(run);
    const bool is_allowed = decision == Decision::by_rule || decision == Decision::by_person;
    expected += is_allowed ? 1 : 0;
    EXPECT_EQ(executed().size(), expected) << logs(run);
    EXPECT_EQ(testing::count_of(logs(run), is_allowed ? "allowed\n" : "denied\n"), 1) << logs(run);
    EXPECT_EQ(question_count(run), asks ? 1 : 0);
    EXPECT_EQ(calls_of(run).size(), 1U);
  }
  expect_audit_intact();
}

INSTANTIATE_TEST_SUITE_P(All, ToolCallChannels,
                         ::testing::Combine(::testing::Values("socket", "hook", "mcp", "line"),
                                            ::testing::Values(Decision::by_rule, Decision::by_person,
                                                              Decision::rejected, Decision::denied)),
                         [](const auto& one) {
                           const auto decision = std::get<1>(one.param);
                           const char* word = decision == Decision::by_rule     ? "allowed_by_rule"
                                              : decision == Decision::by_person ? "allowed_by_person"
                                              : decision == Decision::rejected  ? "rejected"
                                                                                : "denied_by_rule";
                           return std::string(std::get<0>(one.param)) + "_" + word;
                         });

}  // namespace
}  // namespace reeve
