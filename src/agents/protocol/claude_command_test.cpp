#include "agents/protocol/claude_command.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

AgentSetup setup() {
  return {.command = {"/opt/bin/agent"},
          .folder = "/work/shop",
          .private_folder = "/state/TR-7/private",
          .reeve_program = "/opt/my tools/reeve",
          .prompt = "write x",
          .session = "1d0a0e4e-2b1c-4c57-9d6c-7b4d0a3f9a11"};
}

Value settings_of(const AgentCommand& command) {
  EXPECT_THAT(command.files, SizeIs(1));
  return json::parse(command.files.at(0).text).value();
}

const Value& hook_of(const Value& settings) {
  const Value& group = settings.find("hooks")->find("PreToolUse")->as_array()->at(0);
  EXPECT_EQ(*group.find("matcher"), Value::string("*"));
  return group.find("hooks")->as_array()->at(0);
}

TEST(ClaudeCommand, starts_claude_with_the_gate) {
  const AgentCommand command = make_claude_command(setup());
  EXPECT_THAT(
      command.argv,
      ElementsAre("/opt/bin/agent", "-p", "--input-format", "stream-json", "--output-format", "stream-json",
                  "--verbose", "--permission-prompt-tool", "stdio", "--permission-mode", "default",
                  "--include-partial-messages", "--setting-sources", "user", "--strict-mcp-config", "--mcp-config",
                  R"({"mcpServers":{"reeve":{"command":"/opt/my tools/reeve","args":["mcp"]}}})", "--session-id",
                  "1d0a0e4e-2b1c-4c57-9d6c-7b4d0a3f9a11", "--settings", "/state/TR-7/private/claude-settings.json"));
  EXPECT_EQ(command.files.at(0).name, "claude-settings.json");
  const Value settings = settings_of(command);
  const Value& hook = hook_of(settings);
  EXPECT_EQ(*hook.find("command"), Value::string("'/opt/my tools/reeve' hook claude --require --give-up 86390"));
  EXPECT_EQ(*hook.find("timeout"), Value::integer(86'400));
  EXPECT_EQ(*hook.find("onFailure"), Value::string("block"));
  EXPECT_EQ(*settings.find("disableAllHooks"), Value::boolean(false));
  EXPECT_EQ(settings.find("sandbox"), nullptr);
  EXPECT_EQ(command.input, std::nullopt);
}

TEST(ClaudeCommand, options_of_claude) {
  AgentSetup wished = setup();
  wished.command.clear();
  wished.resumes = true;
  wished.model = "opus";
  wished.budget_usd = 2.5;
  wished.is_confined = true;
  const AgentCommand command = make_claude_command(wished);
  EXPECT_EQ(command.argv.front(), "claude");
  EXPECT_THAT(command.argv, IsSupersetOf({"--resume", "--model", "opus", "--max-budget-usd", "2.5"}));
  EXPECT_THAT(command.argv, Not(Contains("--session-id")));
  EXPECT_EQ(*settings_of(command).find("sandbox")->find("enabled"), Value::boolean(false));
}

// Nothing runs beside the agent, updates it or switches its hooks off.
TEST(ClaudeCommand, environment_of_claude) {
  const AgentCommand command = make_claude_command(setup());
  EXPECT_THAT(command.environment,
              ElementsAre(Pair("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), Pair("DISABLE_AUTOUPDATER", "1"),
                          Pair("DISABLE_ERROR_REPORTING", "1"), Pair("DISABLE_TELEMETRY", "1")));
  EXPECT_THAT(command.removed_variables, ElementsAre("CLAUDE_CODE_SIMPLE", "CLAUDECODE"));
}

TEST(ClaudeCommand, starts_qwen_with_the_gate) {
  const AgentCommand command = make_qwen_command(setup());
  EXPECT_THAT(command.argv,
              ElementsAre("/opt/bin/agent", "-o", "stream-json", "--approval-mode", "yolo",
                          "--allowed-mcp-server-names=reeve", "--session-id=1d0a0e4e-2b1c-4c57-9d6c-7b4d0a3f9a11"));
  EXPECT_EQ(command.input, "write x");
  EXPECT_EQ(command.files.at(0).name, "qwen-settings.json");
  EXPECT_THAT(command.environment,
              ElementsAre(Pair("QWEN_CODE_SAFE_MODE", "0"), Pair("QWEN_CODE_SIMPLE", "0"),
                          Pair("QWEN_CODE_SYSTEM_SETTINGS_PATH", "/state/TR-7/private/qwen-settings.json"),
                          Pair("QWEN_CODE_UNATTENDED_RETRY", "0")));
  const Value settings = settings_of(command);
  const Value& hook = hook_of(settings);
  EXPECT_EQ(*hook.find("command"), Value::string("'/opt/my tools/reeve' hook qwen --require --give-up 86390"));
  EXPECT_EQ(*hook.find("timeout"), Value::integer(86'400'000));
  EXPECT_EQ(*settings.find("disableAllHooks"), Value::boolean(false));
  EXPECT_EQ(*settings.find("mcpServers")->find("reeve")->find("command"), Value::string("/opt/my tools/reeve"));
}

TEST(ClaudeCommand, options_of_qwen) {
  AgentSetup wished = setup();
  wished.command.clear();
  wished.resumes = true;
  wished.has_deferred_call = true;
  wished.model = "--yolo";
  wished.prompt.clear();
  wished.is_confined = true;
  const AgentCommand command = make_qwen_command(wished);
  EXPECT_EQ(command.argv.front(), "qwen");
  EXPECT_THAT(command.argv, IsSupersetOf({"--resume=1d0a0e4e-2b1c-4c57-9d6c-7b4d0a3f9a11", "--model=--yolo"}));
  EXPECT_EQ(command.input, "Go on.");
  EXPECT_THAT(command.environment, Contains(Pair("QWEN_SANDBOX", "false")));
}

// A session id that an agent made up does not become an option of its next start.
TEST(ClaudeCommand, session_that_is_an_option_is_left_out) {
  AgentSetup wished = setup();
  wished.resumes = true;
  wished.session = "--dangerously-skip-permissions";
  EXPECT_THAT(make_claude_command(wished).argv, Not(Contains(wished.session)));
  EXPECT_THAT(make_claude_command(wished).argv, Not(Contains("--resume")));
  EXPECT_TRUE(std::ranges::none_of(make_qwen_command(wished).argv,
                                   [](const std::string& word) { return word.starts_with("--resume"); }));
}

}  // namespace
}  // namespace reeve::agents
