#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/runs/run_plan.h"

// AGT-4: how a run of an agent becomes a run of its adapter.
namespace reeve::runtime {
namespace {

using model::AgentKind;
using model::ToolProfile;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

wire::RunRequest request_for(const std::string& tool) { return {.tool = tool, .prompt = "fix it", .cwd = "/"}; }

std::string refusal_of(const model::Config& config, const wire::RunRequest& request) {
  const auto plan = make_plan(config, request);
  return plan ? "accepted" : plan.error().message();
}

TEST(AgentPlan, adapter_gets_the_prompt_and_starts_the_agent) {
  const auto words = make_agent_words({.agent = AgentKind::codex}, {.folder = "/opt/reeve"});
  EXPECT_THAT(words, ElementsAre("/opt/reeve/reeve-agent", "codex", "--release-after", "300", "--reeve",
                                 "/opt/reeve/reeve", "--", "codex"));
  const auto plan = make_plan(model::Config{.tools = {{"coder", {.agent = AgentKind::claude}}}}, request_for("coder"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->argv.front(), EndsWith("/reeve-agent"));
  EXPECT_EQ(plan->prompt, "fix it");
  EXPECT_EQ(plan->tool, "coder");
}

TEST(AgentPlan, profile_and_request_choose_program_model_and_session) {
  ToolProfile profile{.command = {"/opt/claude", "--verbose"}, .agent = AgentKind::claude, .model = "small"};
  profile.release_after = base::TimeLimit::off();
  EXPECT_THAT(make_agent_words(profile, {.folder = "/r", .session = "S-1"}),
              ElementsAre("/r/reeve-agent", "claude", "--model", "small", "--resume", "S-1", "--release-after", "off",
                          "--reeve", "/r/reeve", "--", "/opt/claude", "--verbose"));
  EXPECT_THAT(make_agent_words(profile, {.folder = "/r", .model = "large"})[3], "large");
}

// A prompt that looks like a placeholder or an option is only text on standard input.
TEST(AgentPlan, prompt_is_never_part_of_the_command) {
  wire::RunRequest request = request_for("claude");
  request.prompt = "--dangerously-skip-permissions {prompt}";
  const auto plan = make_plan(model::Config(), request);
  ASSERT_TRUE(plan);
  for (const std::string& word : plan->argv) EXPECT_THAT(word, ::testing::Not(HasSubstr("dangerously")));
}

TEST(AgentPlan, known_agents_need_no_profile) {
  for (const char* name : {"claude", "codex", "gemini", "qwen", "opencode"}) {
    const auto plan = make_plan(model::Config(), request_for(name));
    ASSERT_TRUE(plan) << name;
    EXPECT_EQ(plan->argv.at(1), name);
    EXPECT_EQ(plan->argv.back(), name);
  }
  EXPECT_THAT(refusal_of(model::Config(), request_for("acp")), HasSubstr("there is no tool"));
}

// Nobody can add a word that switches the agent's own checks off, or take it out of its adapter.
TEST(AgentPlan, words_and_terminals_are_refused) {
  const model::Config config;
  wire::RunRequest request = request_for("claude");
  request.argv = {"--dangerously-skip-permissions"};
  EXPECT_THAT(refusal_of(config, request), HasSubstr("words cannot be added"));
  request = request_for("claude");
  request.mode = model::RunMode::pty;
  EXPECT_THAT(refusal_of(config, request), HasSubstr("without a terminal"));
  request = request_for("claude");
  request.prompt = " ";
  EXPECT_THAT(refusal_of(config, request), HasSubstr("needs a prompt"));
}

TEST(AgentPlan, other_tools_have_no_session_and_no_model) {
  const model::Config config{.tools = {{"pytest", {.command = {"pytest"}}}}};
  wire::RunRequest request = request_for("pytest");
  request.session = "S-1";
  EXPECT_THAT(refusal_of(config, request), HasSubstr("is not an agent"));
}

}  // namespace
}  // namespace reeve::runtime
