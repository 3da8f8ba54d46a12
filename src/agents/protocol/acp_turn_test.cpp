#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/open_questions.h"
#include "json/encode.h"
#include "tests/support/agents/acp_session.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using testing::events_of;
using testing::fault_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* command = R"({"toolCallId":"c","kind":"execute","title":"ls","rawInput":{"command":"ls"}})";

class AcpTurn : public testing::AcpSession {
 protected:
  void SetUp() override { open(); }
  // The arguments of the call that is asked about.
  std::string asked_about(const std::string& call) {
    const auto asked = events_of<CallAsked>(ask(call));
    if (asked.size() != 1) return "not asked";
    protocol->answer(asked[0].ticket, {});
    return asked[0].tool + " " + json::encode(asked[0].arguments) + " in " + asked[0].cwd.value_or("-");
  }
};

TEST_F(AcpTurn, permission_is_answered_by_the_kind_of_the_option) {
  EXPECT_THAT(protocol->answer(ticket_of(ask(command)), {.verdict = CallVerdict::allow}).lines,
              ElementsAre(R"({"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"once"}}})"));
  EXPECT_THAT(protocol->answer(ticket_of(ask(command, R"("x")")), {.verdict = CallVerdict::deny}).lines,
              ElementsAre(R"({"jsonrpc":"2.0","id":"x","result":{"outcome":{"outcome":"selected","optionId":"no"}}})"));
}

// TOOL-9: a yes is never one for later calls.
TEST_F(AcpTurn, allow_without_an_option_for_once_is_a_denial) {
  const std::string always =
      R"("options":[{"optionId":"a","kind":"allow_always"},{"optionId":"n","kind":"reject_once"}])";
  EXPECT_THAT(protocol->answer(ticket_of(ask(command, "0", always)), {.verdict = CallVerdict::allow}).lines,
              ElementsAre(HasSubstr(R"("optionId":"n")")));
  for (const std::string options :
       {R"("options":[{"optionId":"a","kind":"allow_always"},{"optionId":"r","kind":"reject_always"}])",
        R"("options":[])", R"("options":7)", R"("x":1)", R"("options":[{"optionId":7,"kind":"allow_once"},7,{}])"}) {
    EXPECT_THAT(protocol->answer(ticket_of(ask(command, "0", options)), {.verdict = CallVerdict::allow}).lines,
                ElementsAre(R"({"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}})"))
        << options;
  }
}

TEST_F(AcpTurn, requests_that_cannot_be_asked_are_denied) {
  for (const std::string call : {"{}", "7", "null", R"({"toolCallId":""})", R"({"toolCallId":{}})"}) {
    const AgentReaction reaction = ask(call);
    EXPECT_THAT(reaction.events, IsEmpty()) << call;
    EXPECT_THAT(reaction.lines, ElementsAre(HasSubstr(R"("optionId":"no")"))) << call;
  }
  const AgentReaction other =
      request("0", "session/request_permission",
              std::string(R"({"sessionId":"X","toolCall":{"toolCallId":"c"},)") + once_and_reject + "}");
  EXPECT_THAT(other.lines, ElementsAre(HasSubstr(R"("optionId":"no")")));
}

// TOOL-9: files and terminals were not offered; the rest is unknown.
TEST_F(AcpTurn, other_requests_are_refused) {
  for (const char* method : {"fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create",
                             "craft/drainMidTurnQueue", "session/requestPermission", ""}) {
    const AgentReaction reaction = request("4", method, R"({"sessionId":"S"})");
    EXPECT_THAT(reaction.events, IsEmpty()) << method;
    EXPECT_THAT(reaction.lines, ElementsAre(HasSubstr(R"("id":4,"error":{"code":-32601)"))) << method;
  }
}

// TOOL-7: the kind is the tool, and its own input the arguments, as the table of names expects.
TEST_F(AcpTurn, call_is_described_by_its_own_input) {
  EXPECT_EQ(asked_about(command), R"(execute {"command":"ls"} in /work)");
  EXPECT_EQ(asked_about(R"({"toolCallId":"d","kind":"execute","rawInput":{"command":"ls","cwd":"/work/a"}})"),
            R"(execute {"command":"ls","cwd":"/work/a"} in /work/a)");
  EXPECT_EQ(asked_about(R"({"toolCallId":"e","rawInput":{"a":1}})"), R"(other {"a":1} in /work)");
  EXPECT_EQ(asked_about(R"({"toolCallId":"f","kind":"fetch","title":"Get","rawInput":"http://x"})"),
            R"(fetch {"title":"Get","input":"http://x"} in /work)");
}

// The title is words for people: no rule may take it for a command.
TEST_F(AcpTurn, call_without_input_is_described_by_what_it_shows) {
  EXPECT_EQ(asked_about(R"({"toolCallId":"a","kind":"execute","title":"ls"})"), R"(execute {"title":"ls"} in /work)");
  EXPECT_EQ(asked_about(R"({"toolCallId":"b","kind":"edit","title":"Write y","rawInput":{},)"
                        R"("content":[{"type":"diff","path":"/work/y","oldText":"","newText":"hi"}],)"
                        R"("locations":[{"path":"/work/y"}]})"),
            R"(edit {"title":"Write y","path":"/work/y","content":"hi"} in /work)");
  EXPECT_EQ(
      asked_about(R"({"toolCallId":"c","kind":"edit","content":[{"type":"diff","path":"/work/y","newText":"hi"}],)"
                  R"("locations":[{"path":"/etc/z"},{"path":"relative"}]})"),
      R"(edit {"paths":["/work/y","/etc/z"],"changes":[{"type":"diff","path":"/work/y","newText":"hi"}]} in /work)");
}

TEST_F(AcpTurn, messages_about_a_call_add_to_each_other) {
  EXPECT_THAT(
      update(R"("sessionUpdate":"tool_call","toolCallId":"c","status":"pending","kind":"execute","rawInput":{})")
          .events,
      IsEmpty());
  const AgentReaction second =
      update(R"("sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"ls","cwd":"/work/a"})");
  ASSERT_EQ(events_of<CallAnnounced>(second).size(), 1U);
  EXPECT_EQ(json::encode(events_of<CallAnnounced>(second)[0].arguments), R"({"command":"ls","cwd":"/work/a"})");
  // The request shows less: the kind and the folder are those announced.
  EXPECT_EQ(asked_about(R"({"toolCallId":"c","rawInput":{"command":"ls"}})"), R"(execute {"command":"ls"} in /work/a)");
}

TEST_F(AcpTurn, call_is_announced_once_and_ends_once) {
  const std::string call = R"("toolCallId":"c","kind":"read","rawInput":{"path":"/work/a"})";
  EXPECT_EQ(events_of<CallAnnounced>(update(R"("sessionUpdate":"tool_call","status":"in_progress",)" + call)).size(),
            1U);
  EXPECT_THAT(update(R"("sessionUpdate":"tool_call",)" + call).events, IsEmpty());
  const std::string end = R"("sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"x")";
  const auto ended = events_of<CallEnded>(update(end));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_FALSE(ended[0].has_failed);
  EXPECT_THAT(ended[0].digest, HasSubstr("sha256:"));
  EXPECT_THAT(update(end).events, IsEmpty());
  // Never announced: the first message is the last.
  const AgentReaction only = update(R"("sessionUpdate":"tool_call","toolCallId":"d","status":"failed","kind":"read")");
  EXPECT_EQ(events_of<CallAnnounced>(only).size(), 1U);
  EXPECT_TRUE(events_of<CallEnded>(only)[0].has_failed);
  EXPECT_FALSE(events_of<CallEnded>(only)[0].was_refused);
}

TEST_F(AcpTurn, denied_call_is_refused_unless_it_has_a_result) {
  protocol->answer(ticket_of(ask(command)), {.verdict = CallVerdict::deny});
  EXPECT_TRUE(
      events_of<CallEnded>(update(R"("sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed")"))[0]
          .was_refused);
  protocol->answer(ticket_of(ask(command)), {.verdict = CallVerdict::deny});
  const auto ended =
      events_of<CallEnded>(update(R"("sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed")"));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_FALSE(ended[0].was_refused);
  EXPECT_FALSE(ended[0].has_failed);
}

// Gemini says nothing more about a call that was denied.
TEST_F(AcpTurn, denied_call_without_a_result_ends_with_its_turn) {
  protocol->answer(ticket_of(ask(command)), {.verdict = CallVerdict::deny});
  const AgentReaction over = result(3, R"({"stopReason":"end_turn"})");
  ASSERT_EQ(events_of<CallEnded>(over).size(), 1U);
  EXPECT_TRUE(events_of<CallEnded>(over)[0].was_refused);
  EXPECT_THAT(events_of<TurnOver>(over)[0].refused, ElementsAre("c"));
}

TEST_F(AcpTurn, pieces_of_a_message_are_told_as_one) {
  EXPECT_THAT(say("Hello, ").events, IsEmpty());
  EXPECT_THAT(say("").events, IsEmpty());
  EXPECT_THAT(update(R"("sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"})").events,
              IsEmpty());
  say("world.");
  EXPECT_EQ(events_of<TextSaid>(update(R"("sessionUpdate":"tool_call","toolCallId":"c")"))[0].text, "Hello, world.");
  say("a", R"(,"messageId":"m1")");
  EXPECT_EQ(events_of<TextSaid>(say("b", R"(,"messageId":"m2")"))[0].text, "a");
  const AgentReaction over = result(3, R"({"stopReason":"end_turn"})");
  EXPECT_EQ(events_of<TextSaid>(over)[0].text, "b");
  EXPECT_EQ(events_of<TurnOver>(over)[0].text, "b");
  EXPECT_TRUE(over.closes_input);
}

TEST_F(AcpTurn, long_messages_are_told_in_parts) {
  const std::string piece(40'000, 'x');
  std::size_t told = 0;
  for (int i = 0; i < 10; ++i) {
    for (const TextSaid& text : events_of<TextSaid>(say(piece))) {
      EXPECT_LE(text.text.size(), max_event_text);
      told += text.text.size();
    }
  }
  const AgentReaction over = result(3, R"({"stopReason":"end_turn"})");
  for (const TextSaid& text : events_of<TextSaid>(over)) told += text.text.size();
  EXPECT_EQ(told, 400'000U);
  EXPECT_EQ(events_of<TurnOver>(over)[0].text.size(), max_event_text);
}

TEST_F(AcpTurn, reasons_to_stop_are_mapped) {
  const auto end_of = [&](const std::string& answer) {
    open();
    const auto over = events_of<TurnOver>(result(3, answer));
    EXPECT_EQ(over.size(), 1U) << answer;
    return over.empty() ? std::pair(TurnEnd::deferred, std::string()) : std::pair(over[0].end, over[0].text);
  };
  EXPECT_EQ(end_of(R"({"stopReason":"end_turn"})").first, TurnEnd::completed);
  EXPECT_EQ(end_of(R"({"stopReason":"cancelled"})").first, TurnEnd::interrupted);
  for (const std::string reason : {"max_tokens", "max_turn_requests", "refusal", "later"}) {
    const auto [end, text] = end_of(R"({"stopReason":")" + reason + "\"}");
    EXPECT_EQ(end, TurnEnd::failed);
    EXPECT_THAT(text, HasSubstr("`" + reason + "`"));
  }
  EXPECT_EQ(end_of("null"), std::pair(TurnEnd::failed, std::string("the agent ended its turn without a reason")));
}

TEST_F(AcpTurn, failed_prompt_is_a_failed_turn) {
  AgentReaction over = read(R"({"id":3,"error":{"code":429,"message":"exhausted"}})");
  EXPECT_EQ(events_of<LimitReached>(over)[0].text, "exhausted");
  EXPECT_FALSE(events_of<LimitReached>(over)[0].resets_at.has_value());
  EXPECT_EQ(events_of<TurnOver>(over)[0].end, TurnEnd::failed);
  open();
  over = read(R"({"id":3,"error":{"code":-32603,"message":"x"}})");
  EXPECT_EQ(over.events.size(), 1U);
}

TEST_F(AcpTurn, interrupt_cancels_the_turn_and_its_requests) {
  ask(command, "0");
  ask(R"({"toolCallId":"d"})", R"("b")");
  const AgentReaction reaction = protocol->interrupt();
  EXPECT_EQ(events_of<CallWithdrawn>(reaction).size(), 2U);
  EXPECT_THAT(reaction.lines,
              ElementsAre(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"S"}})",
                          R"({"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}})",
                          R"({"jsonrpc":"2.0","id":"b","result":{"outcome":{"outcome":"cancelled"}}})"));
  // Too late.
  EXPECT_THAT(ask(R"({"toolCallId":"e"})", "7").lines, ElementsAre(HasSubstr(R"("outcome":"cancelled")")));
  EXPECT_EQ(events_of<TurnOver>(result(3, R"({"stopReason":"cancelled"})"))[0].end, TurnEnd::interrupted);
}

// AGT-6
TEST_F(AcpTurn, deferred_call_cancels_the_turn) {
  EXPECT_THAT(protocol->answer(ticket_of(ask(command)), {.verdict = CallVerdict::defer}).lines,
              ElementsAre(HasSubstr("session/cancel"), HasSubstr(R"("outcome":"cancelled")")));
  // Not a result of a call that nobody allowed.
  EXPECT_TRUE(
      events_of<CallEnded>(update(R"("sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed")"))[0]
          .was_refused);
  EXPECT_EQ(events_of<TurnOver>(result(3, R"({"stopReason":"cancelled"})"))[0].end, TurnEnd::deferred);
}

TEST_F(AcpTurn, only_call_of_a_session_that_can_be_resumed_is_released) {
  ask(command, "0");
  EXPECT_TRUE(protocol->may_release("c"));
  EXPECT_FALSE(protocol->may_release("d"));
  ask(R"({"toolCallId":"d"})", "1");
  EXPECT_FALSE(protocol->may_release("c"));
  hello("{}");
  result(2, R"({"sessionId":"S"})");
  ask(command, "0");
  EXPECT_FALSE(protocol->may_release("c"));
}

TEST_F(AcpTurn, request_that_the_agent_takes_back_is_withdrawn) {
  const std::uint64_t ticket = ticket_of(ask(command, "0"));
  EXPECT_THAT(notify("$/cancel_request", R"({"requestId":"0"})").events, IsEmpty());
  const AgentReaction reaction = notify("$/cancel_request", R"({"requestId":0})");
  EXPECT_EQ(events_of<CallWithdrawn>(reaction).size(), 1U);
  EXPECT_THAT(reaction.lines, ElementsAre(HasSubstr(R"("code":-32800)")));
  EXPECT_THAT(protocol->answer(ticket, {.verdict = CallVerdict::allow}).lines, IsEmpty());
}

TEST_F(AcpTurn, second_request_with_an_open_id_takes_both_back) {
  const std::uint64_t ticket = ticket_of(ask(command, "0"));
  EXPECT_THAT(request("0", "fs/read_text_file", "{}").lines, ElementsAre(HasSubstr(R"("id":0,"error")")));
  EXPECT_THAT(protocol->answer(ticket, {.verdict = CallVerdict::allow}).lines, IsEmpty());
}

TEST_F(AcpTurn, open_requests_and_calls_are_bounded) {
  for (std::size_t i = 0; i < max_open_questions; ++i) {
    ask(R"({"toolCallId":"c)" + std::to_string(i) + "\"}", std::to_string(i));
  }
  EXPECT_THAT(ask(R"({"toolCallId":"x"})", "999").lines, ElementsAre(HasSubstr(R"("optionId":"no")")));
  std::string fault;
  for (int i = 0; i <= 1'024 && fault.empty(); ++i) {
    fault = fault_of(update(R"("sessionUpdate":"tool_call","toolCallId":"d)" + std::to_string(i) + "\""));
  }
  EXPECT_THAT(fault, HasSubstr("more than 1,024 calls"));
}

TEST_F(AcpTurn, size_of_open_calls_is_bounded) {
  const std::string big(8'000'000, 'x');
  // Replaced content does not count.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(fault_of(update(R"("sessionUpdate":"tool_call_update","toolCallId":"c","content":[")" + big + "\"]")),
              "");
  }
  std::string fault;
  for (int i = 0; i < 10 && fault.empty(); ++i) {
    fault = fault_of(update(R"("sessionUpdate":"tool_call","toolCallId":"d)" + std::to_string(i) +
                            R"(","rawInput":{"a":")" + big + "\"}"));
  }
  EXPECT_THAT(fault, HasSubstr("more than 64 MiB"));
}

TEST_F(AcpTurn, usage_is_added_up_over_turns_and_money_is_of_the_session) {
  update(R"("sessionUpdate":"usage_update","used":120,"size":1000,"cost":{"amount":0.0016,"currency":"USD"})");
  update(R"("sessionUpdate":"usage_update","cost":{"amount":7,"currency":"EUR"})");
  auto usage = events_of<UsageTotals>(
      result(3, R"({"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":40,"cachedReadTokens":3}})"));
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].input_tokens, 200);
  EXPECT_EQ(usage[0].cached_tokens, 3);
  EXPECT_FALSE(usage[0].tokens_are_of_session);
  EXPECT_EQ(usage[0].cost_usd, 0.0016);
  EXPECT_TRUE(usage[0].cost_is_of_session);
  EXPECT_EQ(usage[0].context_used, 120);
  protocol->say("more");
  usage = events_of<UsageTotals>(result(
      4,
      R"({"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":100,"output_tokens":9223372036854775807}}}})"));
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].input_tokens, 300);
  // A figure of this size is cut, so that no sum overflows.
  EXPECT_EQ(usage[0].output_tokens, 1'000'000'000'040);
}

}  // namespace
}  // namespace reeve::agents
