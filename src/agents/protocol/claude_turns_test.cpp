#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/claude_protocol.h"
#include "tests/support/claude_lines.h"

// Questions of the agent, and how its turns end.
namespace reeve::agents {
namespace {

using testing::asks;
using testing::claude_fault_of;
using testing::claude_init;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::only;
using testing::play;
using testing::result_of;
using ::testing::SizeIs;
using testing::tool_use;
using testing::turn;

std::unique_ptr<AgentProtocol> claude() { return make_claude_protocol({.prompt = "write x"}); }
std::unique_ptr<AgentProtocol> qwen() { return make_qwen_protocol({.prompt = "write x"}); }

std::string request(const std::string& members) {
  return R"({"type":"control_request","request_id":"r1","request":{)" + members + "}}";
}

TEST(ClaudeQuestions, each_is_answered_once) {
  const auto protocol = claude();
  const auto asked = only<CallAsked>(play(*protocol, {asks("r1", "t1"), asks("r2", "t2")}));
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[0].tool, "Bash");
  EXPECT_EQ(asked[0].call, "t1");
  EXPECT_NE(asked[0].ticket, asked[1].ticket);
  EXPECT_THAT(protocol->answer(asked[1].ticket, {CallVerdict::allow, ""}).lines,
              ElementsAre(R"({"type":"control_response","response":{"subtype":"success","request_id":"r2","response":)"
                          R"({"behavior":"allow","updatedInput":{"command":"ls"}}}})"));
  EXPECT_THAT(protocol->answer(asked[1].ticket, {CallVerdict::allow, ""}).lines, IsEmpty());
  EXPECT_THAT(protocol->answer(99, {CallVerdict::allow, ""}).lines, IsEmpty());
}

// TOOL-9: everything but a plain yes is a no.
TEST(ClaudeQuestions, deferral_is_a_denial_with_its_reason) {
  const auto protocol = claude();
  play(*protocol, {asks("r1", "t1"), asks("r2", "t2")});
  EXPECT_THAT(protocol->answer(1, {CallVerdict::defer, "nobody\nis \xff there"}).lines,
              ElementsAre(HasSubstr(R"("behavior":"deny","message":"nobody\nis � there")")));
  EXPECT_THAT(protocol->answer(2, {CallVerdict::deny, ""}).lines,
              ElementsAre(HasSubstr(R"("behavior":"deny","message":"denied")")));
}

TEST(ClaudeQuestions, unknown_requests_are_never_told_yes) {
  EXPECT_THAT(play(*claude(), {request(R"("subtype":"elicitation","message":"ok?")")}).lines,
              ElementsAre(R"({"type":"control_response","response":{"subtype":"error","request_id":"r1",)"
                          R"("error":"unsupported request `elicitation`","error_code":"unsupported_request"}})"));
  EXPECT_THAT(play(*claude(), {request("")}).lines, ElementsAre(HasSubstr("unsupported_request")));
  const std::string asked = R"("subtype":"can_use_tool",)";
  for (const std::string members :
       {R"("tool_name":"Bash","input":{})", R"("tool_use_id":"t","input":{})",
        R"("tool_use_id":"t","tool_name":"Bash")", R"("tool_use_id":"t","tool_name":"Bash","input":"ls")",
        R"("tool_use_id":"t","tool_name":7,"input":{})"}) {
    const AgentReaction reaction = play(*claude(), {request(asked + members)});
    EXPECT_THAT(reaction.lines, ElementsAre(HasSubstr(R"("behavior":"deny")"))) << members;
    EXPECT_THAT(reaction.events, IsEmpty()) << members;
  }
  // Without an id there is nothing to answer.
  EXPECT_THAT(play(*claude(), {R"({"type":"control_request","request":{"subtype":"can_use_tool"}})",
                               R"({"type":"control_request","request_id":7,"request":{"subtype":"x"}})"})
                  .lines,
              IsEmpty());
}

TEST(ClaudeQuestions, one_id_cannot_ask_for_two_calls) {
  const auto protocol = claude();
  EXPECT_THAT(claude_fault_of(play(*protocol, {asks("r1", "t1"), asks("r1", "t2")})),
              HasSubstr("twice with the same id `r1`"));
  EXPECT_THAT(protocol->answer(1, {CallVerdict::allow, ""}).lines, IsEmpty());
  const auto later = claude();
  play(*later, {asks("r1", "t1")});
  later->answer(1, {CallVerdict::allow, ""});
  EXPECT_THAT(only<CallAsked>(play(*later, {asks("r1", "t2")})), SizeIs(1));
}

TEST(ClaudeQuestions, cancelled_questions_are_withdrawn) {
  const auto protocol = claude();
  const auto withdrawn = only<CallWithdrawn>(play(
      *protocol, {asks("r1", "t1"), R"({"type":"control_cancel_request","request_id":"other"})",
                  R"({"type":"control_cancel_request"})", R"({"type":"control_cancel_request","request_id":"r1"})"}));
  ASSERT_THAT(withdrawn, SizeIs(1));
  EXPECT_EQ(withdrawn[0].ticket, 1U);
  EXPECT_EQ(withdrawn[0].call, "t1");
  EXPECT_THAT(protocol->answer(1, {CallVerdict::allow, ""}).lines, IsEmpty());
}

TEST(ClaudeQuestions, too_many_are_denied) {
  const auto protocol = claude();
  for (std::size_t i = 0; i < max_claude_questions; ++i) {
    EXPECT_THAT(play(*protocol, {asks(fmt::format("r{}", i), "t")}).lines, IsEmpty());
  }
  const AgentReaction more = play(*protocol, {asks("more", "t")});
  EXPECT_THAT(more.events, IsEmpty());
  EXPECT_THAT(more.lines, ElementsAre(HasSubstr(R"("behavior":"deny","message":"too many)")));
}

TEST(ClaudeQuestions, their_arguments_are_bounded_together) {
  const auto protocol = claude();
  const std::string input = R"("input":{"text":")" + std::string(15UZ * 1024 * 1024, 'x') + "\"}";
  std::size_t denied = 0;
  for (int i = 0; i < 6; ++i) {
    const std::string line = fmt::format(R"({{"type":"control_request","request_id":"r{}","request":{{)", i) +
                             R"("subtype":"can_use_tool","tool_use_id":"t","tool_name":"Write",)" + input + "}}";
    denied += play(*protocol, {line}).lines.size();
  }
  EXPECT_EQ(denied, 2U);
}

// --- Turns ---

TurnOver over(AgentProtocol& protocol, const std::string& members) {
  const AgentReaction reaction = play(protocol, {turn(members)});
  EXPECT_TRUE(reaction.closes_input);
  return only<TurnOver>(reaction).at(0);
}

TEST(ClaudeTurns, end_is_read_from_structured_facts) {
  const auto protocol = claude();
  EXPECT_EQ(over(*protocol, R"("is_error":false,"result":"done")").end, TurnEnd::completed);
  EXPECT_EQ(over(*protocol, R"("is_error":true,"subtype":"success")").end, TurnEnd::failed);
  EXPECT_EQ(over(*protocol, R"("is_error":false,"subtype":"error_max_turns")").end, TurnEnd::failed);
  EXPECT_EQ(over(*protocol, R"("result":"done")").end, TurnEnd::failed);
  EXPECT_EQ(over(*protocol, R"("is_error":"false")").end, TurnEnd::failed);
  EXPECT_EQ(over(*protocol, R"("is_error":false,"stop_reason":"tool_deferred")").end, TurnEnd::deferred);
  EXPECT_EQ(over(*protocol, R"("is_error":true,"stop_reason":"tool_deferred")").end, TurnEnd::failed);
}

TEST(ClaudeTurns, interrupt_ends_the_turn) {
  const auto protocol = claude();
  EXPECT_THAT(
      protocol->interrupt().lines,
      ElementsAre(R"({"type":"control_request","request_id":"interrupt-1","request":{"subtype":"interrupt"}})"));
  EXPECT_EQ(over(*protocol, R"("is_error":true,"subtype":"error_during_execution")").end, TurnEnd::interrupted);
  EXPECT_EQ(over(*protocol, R"("is_error":true)").end, TurnEnd::failed) << "only that turn";
  protocol->interrupt();
  EXPECT_EQ(over(*protocol, R"("is_error":false)").end, TurnEnd::completed) << "it was faster";
}

TEST(ClaudeTurns, text_is_the_answer_or_what_went_wrong) {
  const auto protocol = claude();
  EXPECT_EQ(over(*protocol, R"("is_error":false,"result":"done")").text, "done");
  EXPECT_EQ(over(*protocol, R"("is_error":true,"errors":["a",7,"b"])").text, "a\nb");
  EXPECT_EQ(over(*protocol, R"("is_error":true,"error":{"message":"no key"})").text, "no key");
  EXPECT_EQ(over(*protocol, R"("is_error":false,"result":")" + std::string(max_event_text + 1, 'x') + "\"").text.size(),
            max_event_text);
}

TEST(ClaudeTurns, refused_calls_are_listed) {
  EXPECT_THAT(
      over(*claude(), R"("is_error":false,"permission_denials":[{"tool_use_id":"t1"},{},7,{"tool_use_id":"t2"}])")
          .refused,
      ElementsAre("t1", "t2"));
}

TEST(ClaudeTurns, open_questions_are_withdrawn) {
  const auto protocol = claude();
  play(*protocol, {tool_use("m1", "t1"), asks("r1", "t1")});
  EXPECT_THAT(only<CallWithdrawn>(play(*protocol, {turn(R"("is_error":true)")})), SizeIs(1));
  EXPECT_THAT(protocol->answer(1, {CallVerdict::allow, ""}).lines, IsEmpty());
}

TEST(ClaudeTurns, missing_login_is_told) {
  const auto told = [](AgentProtocol& protocol, const std::string& members) {
    return only<LoginMissing>(play(protocol, {turn(members)})).size();
  };
  EXPECT_EQ(told(*claude(), R"("is_error":true,"result":"Not logged in · Please run /login")"), 1U);
  EXPECT_EQ(told(*claude(), R"("is_error":true,"result":"API Error: 401","api_error_status":401)"), 1U);
  EXPECT_EQ(told(*qwen(), R"("is_error":true,"error":{"message":"No auth type is selected. Please"})"), 1U);
  // Only the words of the model.
  EXPECT_EQ(told(*claude(), R"("is_error":false,"result":"Not logged in · Please run /login")"), 0U);
}

// RUN-18: a reset time comes only from a structured field.
TEST(ClaudeTurns, limits_are_told_with_their_time) {
  const auto protocol = claude();
  const std::string event =
      R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794713134,"rateLimitType":"five_hour"}})";
  const std::string end = turn(R"("is_error":true,"api_error_status":429,"result":"resets 5:11pm, in UTC")");
  auto reached = only<LimitReached>(play(*protocol, {event, end}));
  ASSERT_THAT(reached, SizeIs(1));
  EXPECT_EQ(reached[0].text, "the usage limit `five_hour` is reached");
  EXPECT_EQ(base::format_time(*reached[0].resets_at), "2026-11-15T03:25:34.000Z");
  // The next turn has none.
  reached = only<LimitReached>(play(*protocol, {end}));
  ASSERT_THAT(reached, SizeIs(1));
  EXPECT_EQ(reached[0].resets_at, std::nullopt);
  EXPECT_THAT(only<LimitReached>(play(*claude(), {turn(R"("is_error":true,"result":"429")")})), IsEmpty());
}

TEST(ClaudeTurns, warnings_show_the_used_share) {
  const auto window = [](const std::string& members) {
    return only<LimitWindow>(play(
        *claude(), {R"({"type":"rate_limit_event","rate_limit_info":{"rateLimitType":"five_hour",)" + members + "}}"}));
  };
  const auto warned = window(R"("status":"allowed_warning","resetsAt":1794713134,"utilization":0.82)");
  ASSERT_THAT(warned, SizeIs(1));
  EXPECT_EQ(warned[0].name, "five_hour");
  EXPECT_DOUBLE_EQ(*warned[0].used_percent, 82);
  EXPECT_TRUE(warned[0].resets_at.has_value());
  // Milliseconds, or not a time at all.
  for (const std::string time : {"1794713134000", "-1", "0", "\"soon\"", "1e300"}) {
    EXPECT_EQ(window(R"("status":"allowed_warning","resetsAt":)" + time).at(0).resets_at, std::nullopt) << time;
  }
  EXPECT_THAT(window(R"("status":"allowed")"), IsEmpty());
  EXPECT_THAT(window(R"("status":"rejected","isUsingOverage":true)"), SizeIs(1));
}

TEST(ClaudeTurns, retries_are_noted) {
  const auto retries = only<RetryNoted>(
      play(*claude(), {R"({"type":"system","subtype":"api_retry","attempt":2,"error":"overloaded","error_status":529})",
                       R"({"type":"system","subtype":"api_retry","attempt":1e99})"}));
  ASSERT_THAT(retries, SizeIs(2));
  EXPECT_EQ(retries[0].attempt, 2);
  EXPECT_EQ(retries[0].text, "overloaded, HTTP status 529");
}

// AGT-4: tokens of the process, cost of the session.
TEST(ClaudeTurns, usage_of_claude) {
  const auto protocol = claude();
  const std::string said =
      R"({"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1,)"
      R"("cache_read_input_tokens":30,"cache_creation_input_tokens":5}}})";
  EXPECT_THAT(only<UsageTotals>(play(*protocol, {claude_init, said})), IsEmpty());
  const auto totals = only<UsageTotals>(
      play(*protocol, {turn(R"("is_error":false,"total_cost_usd":0.5,"usage":{"input_tokens":20,"output_tokens":7,)"
                            R"("cache_read_input_tokens":60,"cache_creation_input_tokens":5},"modelUsage":{"haiku":)"
                            R"({"contextWindow":200000},"opus":{"contextWindow":100000}})")}));
  ASSERT_THAT(totals, SizeIs(1));
  EXPECT_EQ(totals[0].input_tokens, 85);
  EXPECT_EQ(totals[0].output_tokens, 7);
  EXPECT_EQ(totals[0].cached_tokens, 60);
  EXPECT_FALSE(totals[0].tokens_are_of_session);
  EXPECT_EQ(totals[0].cost_usd, 0.5);
  EXPECT_TRUE(totals[0].cost_is_of_session);
  EXPECT_EQ(totals[0].context_used, 46);
  EXPECT_EQ(totals[0].context_size, 100'000);
}

// Its process is ended while a person thinks, before the line with the totals.
TEST(ClaudeTurns, usage_of_qwen_is_told_after_each_message) {
  const auto protocol = qwen();
  const std::string said =
      R"({"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":100,"output_tokens":20,)"
      R"("cache_read_input_tokens":40}}})";
  const auto totals = only<UsageTotals>(play(*protocol, {said, said}));
  ASSERT_THAT(totals, SizeIs(2));
  EXPECT_EQ(totals[1].input_tokens, 200);
  EXPECT_EQ(totals[1].cached_tokens, 80);
  EXPECT_EQ(totals[1].cost_usd, std::nullopt);
  EXPECT_EQ(totals[1].context_used, 120);
  const auto ended = only<UsageTotals>(play(*protocol, {turn(R"("is_error":false,"usage":{"input_tokens":250})")}));
  EXPECT_EQ(ended.at(0).input_tokens, 250);
  EXPECT_EQ(ended.at(0).output_tokens, 40);
}

}  // namespace
}  // namespace reeve::agents
