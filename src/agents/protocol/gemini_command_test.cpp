#include "agents/protocol/gemini_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/hook_settings.h"
#include "agents/protocol/agent_message.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

AgentSetup make_setup() {
  AgentSetup setup;
  setup.command = {"/opt/gemini", "--debug"};
  setup.folder = "/work/shop";
  setup.private_folder = "/state/run-7/attempt-1";
  setup.reeve_program = "/usr/bin/reeve";
  setup.prompt = "fix the test";
  setup.secret = "f00d";
  return setup;
}

Value settings_of(const AgentCommand& command) {
  EXPECT_EQ(command.files.size(), 1);
  EXPECT_EQ(command.files.front().name, "gemini-settings.json");
  const auto settings = json::parse(command.files.front().text);
  EXPECT_TRUE(settings.has_value());
  return settings.value_or(Value());
}

Value hook_group(const Value& settings) {
  const Value::Array* groups = member_of(member_of(settings, "hooks"), "BeforeTool").as_array();
  return groups != nullptr && groups->size() == 1 ? groups->front() : Value();
}

Value hook_of(const AgentSetup& setup) {
  const Value group = hook_group(settings_of(make_gemini_command(setup)));
  const Value::Array* hooks = member_of(group, "hooks").as_array();
  return hooks != nullptr && hooks->size() == 1 ? hooks->front() : Value();
}

TEST(GeminiCommand, a_new_session_reads_its_prompt_from_standard_input) {
  const AgentCommand command = make_gemini_command(make_setup());
  EXPECT_THAT(command.argv, ElementsAre("/opt/gemini", "--debug", StartsWith("--allowed-mcp-server-names=reeve-"), "-o",
                                        "stream-json", "--approval-mode", "yolo", "--skip-trust"));
  EXPECT_EQ(command.input, "fix the test");
}

TEST(GeminiCommand, a_session_is_resumed_with_its_model) {
  AgentSetup setup = make_setup();
  setup.resumes = true;
  setup.session = "--yolo";
  setup.model = "gemini-2.5-flash";
  const AgentCommand command = make_gemini_command(setup);
  EXPECT_THAT(command.argv, Contains("--resume=--yolo"));
  EXPECT_THAT(command.argv, Contains("--model=gemini-2.5-flash"));
  // Chosen by Gemini: the setup's session counts only on a resume.
  setup.resumes = false;
  EXPECT_THAT(make_gemini_command(setup).argv, Not(Contains("--resume=--yolo")));
}

// AGT-5: the hook is part of the settings that override those of the person and of the project.
TEST(GeminiCommand, the_hook_is_in_the_system_settings_of_the_run) {
  const AgentCommand command = make_gemini_command(make_setup());
  EXPECT_EQ(command.environment.at("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), "/state/run-7/attempt-1/gemini-settings.json");
  const Value settings = settings_of(command);
  const Value group = hook_group(settings);
  EXPECT_EQ(json::text_of(group, "matcher"), "*");
  EXPECT_TRUE(is_true(group, "sequential")) << "it must see what other hooks made of the arguments";
  const Value hook = hook_of(make_setup());
  EXPECT_EQ(json::text_of(hook, "command"), "/usr/bin/reeve hook gemini --require --give-up 86390");
  EXPECT_EQ(json::integer_of(hook, "timeout"), 86'400'000);
  EXPECT_TRUE(is_own_command(HookDialect::gemini, json::text_of(hook, "command")));
  EXPECT_EQ(json::encode(member_of(settings, "hooksConfig")), R"({"enabled":true,"disabled":["reeve"]})");
}

// AGT-5: a project can switch off or replace only hooks whose name it knows.
TEST(GeminiCommand, the_name_of_the_hook_cannot_be_guessed) {
  const std::string name = json::text_of(hook_of(make_setup()), "name");
  EXPECT_THAT(name, StartsWith("reeve-"));
  EXPECT_EQ(name.size(), 38);
  EXPECT_EQ(name.find("f00d"), std::string::npos);
  AgentSetup other = make_setup();
  other.secret = "beef";
  EXPECT_NE(json::text_of(hook_of(other), "name"), name);
}

TEST(GeminiCommand, the_program_of_the_hook_is_quoted) {
  AgentSetup setup = make_setup();
  setup.reeve_program = "/opt/my tools/it's/reeve";
  EXPECT_EQ(json::text_of(hook_of(setup), "command"),
            R"('/opt/my tools/it'\''s/reeve' hook gemini --require --give-up 86390)");
}

// A timer that is too long for Node ends at once, and the call would run.
TEST(GeminiCommand, the_timeout_of_the_hook_is_bounded) {
  for (const int seconds : {2'147'483'647, 3'000'000, 2'000'001}) {
    AgentSetup setup = make_setup();
    setup.hook_seconds = seconds;
    EXPECT_EQ(json::integer_of(hook_of(setup), "timeout"), 2'000'000'000);
  }
  AgentSetup setup = make_setup();
  setup.hook_seconds = -1;
  EXPECT_EQ(json::integer_of(hook_of(setup), "timeout"), 11'000);
  EXPECT_EQ(json::text_of(hook_of(setup), "command"), "/usr/bin/reeve hook gemini --require --give-up 1");
}

TEST(GeminiCommand, updates_reports_and_its_own_sandbox_are_off) {
  const AgentCommand command = make_gemini_command(make_setup());
  const Value settings = settings_of(command);
  EXPECT_FALSE(*member_of(member_of(settings, "general"), "enableAutoUpdate").as_bool());
  EXPECT_FALSE(*member_of(member_of(settings, "privacy"), "usageStatisticsEnabled").as_bool());
  EXPECT_FALSE(*member_of(member_of(settings, "telemetry"), "enabled").as_bool());
  EXPECT_FALSE(*member_of(member_of(settings, "tools"), "sandbox").as_bool());
  EXPECT_EQ(command.environment.at("GEMINI_SANDBOX"), "false");
}

// A project's `.env` sets only what is not set.
TEST(GeminiCommand, a_project_cannot_set_what_starts_the_hook) {
  const AgentCommand command = make_gemini_command(make_setup());
  EXPECT_EQ(json::encode(member_of(hook_of(make_setup()), "env")), R"({"SHELLOPTS":"","BASHOPTS":""})");
  for (const char* name : {"BASH_ENV", "LD_PRELOAD", "NODE_OPTIONS"}) {
    EXPECT_EQ(command.default_variables.at(name), "") << name;
    EXPECT_FALSE(command.environment.contains(name)) << "the person's own value stays";
  }
  EXPECT_EQ(command.default_variables.at("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), "/etc/gemini-cli/system-defaults.json");
}

TEST(GeminiCommand, a_prompt_is_no_command_of_gemini) {
  EXPECT_EQ(literal_gemini_prompt("/deploy now"), "Task: /deploy now");
  EXPECT_EQ(literal_gemini_prompt(" / is the root"), " / is the root");
  EXPECT_EQ(literal_gemini_prompt("read @secret.txt and a@b"), R"(read \@secret.txt and a\@b)");
  EXPECT_EQ(literal_gemini_prompt("@"), "@");
  EXPECT_EQ(literal_gemini_prompt("at @ 5, (@) or @!"), "at @ 5, (@) or @!");
  EXPECT_EQ(literal_gemini_prompt(R"(\@done @@x)"), R"(\@done \@\@x)");
  EXPECT_EQ(literal_gemini_prompt(""), "");
}

}  // namespace
}  // namespace reeve::agents
