#include "adapter/session_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace reeve::adapter {
namespace {

using agents::AgentKind;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

SessionPlan plan(const SessionRequest& request) {
  base::SeededRandom random(1);
  return plan_session(request, random);
}

TEST(SessionPlan, new_session_has_the_prompt) {
  const SessionPlan made = plan({.kind = AgentKind::claude, .prompt = "fix it"});
  EXPECT_THAT(made.session, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_FALSE(made.resumes);
  EXPECT_EQ(made.prompt, "fix it");
  EXPECT_EQ(plan({.kind = AgentKind::codex, .prompt = "fix it"}).session, "") << "the agent chooses it";
}

TEST(SessionPlan, another_attempt_continues_the_session_of_the_run) {
  const StoredSession stored{.session = "s-1", .agent = "codex", .usage = {.input_tokens = 7}};
  SessionPlan made = plan({.kind = AgentKind::codex, .stored = stored, .resume = "s-0", .prompt = "fix it"});
  EXPECT_EQ(made.session, "s-1");
  EXPECT_TRUE(made.resumes);
  EXPECT_FALSE(made.has_deferred_call);
  EXPECT_EQ(made.prompt, "Continue where you stopped.") << "the session has the prompt";
  EXPECT_EQ(made.stored_session, "s-1");
  EXPECT_EQ(made.usage.input_tokens, 7);
  made = plan({.kind = AgentKind::codex,
               .stored = stored,
               .prompt = "fix it",
               .answers = R"({"c1":{"approval_id":"AP-1","status":"rejected","comment":"use staging"}})"});
  EXPECT_TRUE(made.has_deferred_call);
  EXPECT_THAT(made.prompt, HasSubstr("The call was rejected: use staging."));
  EXPECT_EQ(made.continuation, made.prompt);
}

TEST(SessionPlan, session_of_another_agent_is_not_resumed) {
  const StoredSession stored{.session = "s-1", .agent = "codex", .usage = {}};
  EXPECT_FALSE(plan({.kind = AgentKind::claude, .stored = stored, .prompt = "x"}).resumes);
}

TEST(SessionPlan, session_of_another_run_gets_the_new_prompt) {
  const SessionPlan made = plan({.kind = AgentKind::claude, .resume = "s-0", .prompt = "also the docs"});
  EXPECT_EQ(made.session, "s-0");
  EXPECT_TRUE(made.resumes);
  EXPECT_EQ(made.prompt, "also the docs");
  EXPECT_EQ(made.stored_session, std::nullopt);
  EXPECT_EQ(plan({.resume = "s-0"}).prompt, "Continue where you stopped.");
}

TEST(SessionPlan, stored_session_is_read_with_its_totals) {
  const auto stored = parse_stored_session(
      json::parse(R"({"session_id":"s-1","agent":"claude","model":"m","input_tokens":5,"cost_usd":0.25})").value());
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->session, "s-1");
  EXPECT_EQ(stored->usage.input_tokens, 5);
  EXPECT_EQ(stored->usage.cost_usd, 0.25);
  EXPECT_FALSE(parse_stored_session(base::Value::object()));
  EXPECT_FALSE(parse_stored_session(base::Value()));
  EXPECT_FALSE(parse_stored_session(base::Value::object({{"session_id", base::Value::integer(7)}})));
}

TEST(SessionPlan, answers_of_any_shape_are_told) {
  for (const char* text : {"", "[]", "{", "{\"c1\":7}", "{\"c1\":{}}"}) {
    EXPECT_THAT(describe_answers(text), HasSubstr("make it again")) << text;
  }
}

}  // namespace
}  // namespace reeve::adapter
