#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
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

namespace fs = std::filesystem;
using testing::Members;
using testing::Session;
using testing::Words;

enum class Decision { by_rule, by_person, by_grant, rejected, expired, denied };
using Case = std::tuple<const char*, Decision>;

std::string word_of(Decision decision) {
  switch (decision) {
    case Decision::by_rule:
      return "by_rule";
    case Decision::by_person:
      return "by_person";
    case Decision::by_grant:
      return "by_grant";
    case Decision::rejected:
      return "rejected";
    case Decision::expired:
      return "expired";
    case Decision::denied:
      break;
  }
  return "denied";
}
bool is_allowed(Decision decision) {
  return decision == Decision::by_rule || decision == Decision::by_person || decision == Decision::by_grant;
}

class ChannelTest : public testing::ToolCallsTest {
 protected:
  void configure_for(Decision decision) const {
    const bool is_denied = decision == Decision::denied;
    configure(
        fmt::format("tools:\n"
                    "  agent: {{command: [/bin/sh, -c], resume: live}}\n"
                    "  released: {{command: [/bin/sh, -c]}}\n"
                    "  lines: {{command: [/bin/sh, -c], resume: live, mode: stream, speaks: reeve}}\n"
                    "policies:\n"
                    "  tools:\n"
                    "    file_write: {{policy: auto_approve, when: {{path: 'free/**'}}}}\n"
                    "    shell_execute: {{policy: {}, when: {{argv: [{}, {}]}}}}\n"
                    "{}",
                    is_denied ? "deny" : "auto_approve", argv(is_denied ? "denied" : "by_rule"),
                    inner_argv(is_denied ? "denied" : "by_rule"),
                    decision == Decision::expired ? "supervision: {approval_expiry: {tool_call: 1s}}\n" : ""));
  }
  static std::string tool_of(std::string_view channel) { return channel == "line" ? "lines" : "agent"; }

  // JSON, and so YAML.
  std::string argv(const std::string& word) const { return fmt::format(R"(["/bin/sh","-c","{}"])", effect(word)); }

  // Codex starts every command with a shell, which is taken away before the rules see it.
  std::string inner_argv(const std::string& word) const {
    return fmt::format(R"(["{}","effect","{}","{}"])", testing::zoo_binary(), (scratch().path() / "effects").string(),
                       word);
  }

  // Shell: succeeds if the hook of this agent lets it run the command.
  std::string hook(std::string_view agent, const std::string& command) const {
    const std::string common = fmt::format(R"("session_id":"s","cwd":"{}",)", project().string());
    const std::string input = fmt::format(R"("tool_input":{{"command":"{}"}})", command);
    const std::string ask = " | '" + testing::reeve_binary() + "' hook " + std::string(agent);
    if (agent == "gemini") {
      return "echo " +
             quoted(R"({"hook_event_name":"BeforeTool",)" + common + R"("tool_name":"run_shell_command",)" + input +
                    "}") +
             ask + " | grep -q '\"decision\":\"allow\"'";
    }
    const std::string tool = agent == "qwen" ? "run_shell_command" : "Bash";
    const std::string id =
        agent == "qwen" ? R"("tool_use_id":"toolu_1","tool_call_id":"call_1")" : R"("tool_use_id":"toolu_1")";
    const std::string said = "echo " +
                             quoted(R"({"hook_event_name":"PreToolUse",)" + common + R"("tool_name":")" + tool + "\"," +
                                    input + "," + id + "}") +
                             ask;
    // Silence with exit code 0 is the yes for Codex.
    if (agent == "codex") return "said=$(" + said + ") && [ -z \"$said\" ]";
    return said + " | grep -q '\"permissionDecision\":\"allow\"'";
  }

  // Shell: makes one call by MCP, and succeeds if the result is no error.
  static std::string call_by_mcp(const std::string& tool, const std::string& arguments) {
    return "mkfifo in; '" + testing::reeve_binary() +
           "' mcp <in >out & exec 3>in\n"
           "echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
           "\"2025-06-18\"}}' >&3\n"
           "echo " +
           quoted(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" +
                  arguments + "}}") +
           " >&3\n"
           "while ! grep -q '\"id\":1,' out; do sleep 0.02; done; exec 3>&-; wait\n"
           "cat out; rm in; grep '\"id\":1,' out | grep -q '\"isError\":false'";
  }
  // Shell: has the tool host run this, and succeeds if it could.
  static std::string call_hosted(std::string_view channel, const std::string& tool, const std::string& arguments) {
    if (channel == "socket") {
      return "call c1 " + tool + " " + quoted(arguments) + " --execute | tee said && grep -q '\"is_error\":false' said";
    }
    if (channel == "line") {
      return "echo " +
             quoted(R"({"event":"tool_use","id":"c1","tool":")" + tool + R"(","arguments":)" + arguments + "}") +
             "\nIFS= read -r answer; echo \"got $answer\"; echo \"$answer\" | grep -q '\"tool_result\"'";
    }
    return call_by_mcp(tool, arguments);
  }

  // An agent that makes this one call on the channel, and says `allowed` or `denied`.
  std::string agent(std::string_view channel, const std::string& word) const {
    const std::string verdict = " && echo allowed || echo denied\n";
    if (channel.starts_with("hook_")) {
      // The agent runs the command itself.
      const std::string command = fmt::format(R"(/bin/sh -c \"{}\")", effect(word));
      return "if " + hook(channel.substr(5), command) + "; then " + effect(word) +
             "; echo allowed; else echo denied; fi\n";
    }
    return call_hosted(channel, "shell_execute", fmt::format(R"({{"argv":{}}})", argv(word))) + verdict;
  }

  // A daemon that dies at the next commit, or at a point of the next call, with a run that has waited for it.
  std::unique_ptr<Session> serve_for(const std::string& run, const std::string& point) const {
    wait_for_status(run, "running");
    auto daemon = serve_until(point);
    let("go");
    return daemon;
  }

  // A client that loses its daemon may report an error.
  void decide(const std::string& run, Decision decision) const {
    const std::string question = wait_for_question(run);
    EXPECT_TRUE(testing::eventually([&] {
      const int code = (decision == Decision::by_person ? approve(question) : reject(question)).code;
      return code == 0 || code == 4;
    }));
  }

  void expect_verdict(const std::string& run, Decision decision, std::size_t executed_before) const {
    const bool asks =
        decision == Decision::by_person || decision == Decision::rejected || decision == Decision::expired;
    expect_completed(run);
    EXPECT_EQ(executed().size(), executed_before + (is_allowed(decision) ? 1 : 0)) << logs(run);
    EXPECT_EQ(testing::count_of(logs(run), is_allowed(decision) ? "allowed\n" : "denied\n"), 1) << logs(run);
    EXPECT_EQ(question_count(run), asks ? 1 : 0);
    EXPECT_EQ(calls_of(run).size(), 1U);
  }
};

class ToolCallChannels : public ChannelTest, public ::testing::WithParamInterface<Case> {
 protected:
  // Where the daemon of such a call can die.
  static Words points_of(std::string_view channel, Decision decision) {
    // The dialects of hooks differ only in what they say.
    const bool is_dialect = channel.starts_with("hook_") && channel != "hook_claude";
    const bool is_decided = decision == Decision::by_person || decision == Decision::rejected;
    Words points = {"call.after_store"};
    if (is_decided) points.emplace_back("approval.after_decide");
    if (is_dialect || decision == Decision::by_grant || decision == Decision::expired) return points;
    points.emplace_back("call.before_store");
    if (decision == Decision::by_rule) {
      points.emplace_back("group.before_commit");
      points.emplace_back("group.after_commit_before_publish");
    }
    if (is_allowed(decision) && !channel.starts_with("hook_")) points.emplace_back("call.before_end");
    return points;
  }
};

TEST_P(ToolCallChannels, command_runs_once_if_it_was_allowed) {
  const auto& [name, decision] = GetParam();
  const std::string_view channel = name;
  configure_for(decision);
  std::size_t expected = 0;
  if (decision == Decision::by_grant) {
    const std::string first = begin(agent(channel, word_of(decision)), tool_of(channel));
    EXPECT_EQ(approve(wait_for_question(first), {"--always", "--for", "project"}).code, 0);
    expect_verdict(first, Decision::by_person, expected++);
  }
  for (const std::string& point : points_of(channel, decision)) {
    SCOPED_TRACE(point);
    const bool is_early = point != "call.before_end" && point != "approval.after_decide";
    fs::remove(project() / "go");
    const std::string run = begin("wait_file go\n" + agent(channel, word_of(decision)), tool_of(channel));
    auto daemon = serve_for(run, point);
    // Before the question there is nothing to decide.
    if (is_early) expect_killed(*daemon, point);
    if (decision == Decision::by_person || decision == Decision::rejected) decide(run, decision);
    if (!is_early) expect_killed(*daemon, point);
    expect_verdict(run, decision, expected);
    expected += is_allowed(decision) ? 1 : 0;
  }
  expect_audit_intact();
}

INSTANTIATE_TEST_SUITE_P(
    All, ToolCallChannels,
    ::testing::Combine(::testing::Values("socket", "hook_claude", "mcp", "line"),
                       ::testing::Values(Decision::by_rule, Decision::by_person, Decision::by_grant, Decision::rejected,
                                         Decision::expired, Decision::denied)),
    [](const auto& one) { return std::string(std::get<0>(one.param)) + "_" + word_of(std::get<1>(one.param)); });
INSTANTIATE_TEST_SUITE_P(
    Dialects, ToolCallChannels,
    ::testing::Combine(::testing::Values("hook_codex", "hook_gemini", "hook_qwen"),
                       ::testing::Values(Decision::by_person, Decision::rejected, Decision::denied)),
    [](const auto& one) { return std::string(std::get<0>(one.param)) + "_" + word_of(std::get<1>(one.param)); });

// TOOL-4: what the tool host had begun is not repeated on any channel, and the agent learns that.
class ToolCallBegun : public ChannelTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ToolCallBegun, call_that_had_begun_is_never_repeated) {
  configure_for(Decision::by_rule);
  fs::create_directory(project() / "free");
  const std::string run =
      begin("wait_file go\n" + call_hosted(GetParam(), "file_write", R"({"path":"free/a","content":"text"})") +
                " && echo allowed || echo denied\n",
            tool_of(GetParam()));
  auto daemon = serve_for(run, "call.after_begin");
  expect_killed(*daemon, "call.after_begin");
  expect_completed(run);
  EXPECT_FALSE(fs::exists(project() / "free/a")) << logs(run);
  EXPECT_EQ(testing::count_of(logs(run), "denied\n"), 1) << logs(run);
  EXPECT_THAT(logs(run), ::testing::HasSubstr("its result is lost"));
  const std::vector<Members> calls = calls_of(run);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].at("outcome"), "lost");
  expect_audit_intact();
}

INSTANTIATE_TEST_SUITE_P(Channels, ToolCallBegun, ::testing::Values("socket", "mcp", "line"),
                         [](const auto& one) { return std::string(one.param); });

// APR-5, APR-8: an agent that leaves while its call waits; its next attempt asks again, and the command runs once.
class ToolCallDeferred : public ChannelTest, public ::testing::WithParamInterface<Decision> {};

TEST_P(ToolCallDeferred, command_of_a_released_agent_runs_once_if_it_was_allowed) {
  configure_for(GetParam());
  const std::string script = "wait_file go\ncall c1 shell_execute " +
                             quoted(fmt::format(R"({{"argv":{}}})", argv(word_of(GetParam())))) +
                             " --execute --once --defer >said; code=$?; cat said; [ $code = 90 ] && exit 90\n"
                             "grep -q '\"is_error\":false' said && echo allowed || echo denied\n";
  std::size_t expected = 0;
  for (const std::string point :
       {"call.after_store", "approval.after_decide", "approval.after_use", "call.before_end"}) {
    if (point == "call.before_end" && !is_allowed(GetParam())) continue;
    SCOPED_TRACE(point);
    fs::remove(project() / "go");
    const std::string run = begin(script, "released");
    auto daemon = serve_for(run, point);
    if (point == "call.after_store") expect_killed(*daemon, point);
    decide(run, GetParam());
    if (point != "call.after_store") expect_killed(*daemon, point);
    expect_verdict(run, GetParam(), expected);
    expected += is_allowed(GetParam()) ? 1 : 0;
  }
  expect_audit_intact();
}

INSTANTIATE_TEST_SUITE_P(Decisions, ToolCallDeferred, ::testing::Values(Decision::by_person, Decision::rejected),
                         [](const auto& one) { return word_of(one.param); });

}  // namespace
}  // namespace reeve
