#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/codex_protocol.h"
#include "agents/protocol/open_questions.h"
#include "json/encode.h"
#include "tests/support/agents/codex_session.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using testing::events_of;
using testing::fault_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CodexTurn : public testing::CodexSession {
 protected:
  void SetUp() override { run(); }
};

TEST_F(CodexTurn, command_is_asked_about_and_answered_once) {
  const AgentReaction reaction = ask();
  const auto asked = events_of<CallAsked>(reaction);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].call, "c1");
  EXPECT_EQ(asked[0].tool, "commandExecution");
  EXPECT_EQ(json::encode(asked[0].arguments), R"({"command":"ls","cwd":"/work"})");
  EXPECT_EQ(asked[0].cwd, "/work");
  EXPECT_THAT(reaction.lines, IsEmpty());
  EXPECT_TRUE(protocol->may_release("c1"));
  EXPECT_FALSE(protocol->may_release("c2"));
  EXPECT_THAT(protocol->answer(asked[0].ticket, {.verdict = CallVerdict::allow}).lines,
              ElementsAre(R"({"id":0,"result":{"decision":"accept"}})"));
  EXPECT_THAT(protocol->answer(asked[0].ticket, {.verdict = CallVerdict::allow}).lines, IsEmpty());
  EXPECT_THAT(protocol->answer(99, {.verdict = CallVerdict::allow}).lines, IsEmpty());
  EXPECT_FALSE(protocol->may_release("c1"));
}

TEST_F(CodexTurn, denial_sends_its_reason_to_the_model) {
  const std::uint64_t ticket = ticket_of(ask(R"("a-1")"));
  EXPECT_THAT(protocol->answer(ticket, {.verdict = CallVerdict::deny, .reason = "not today"}).lines,
              ElementsAre(R"({"id":"a-1","result":{"decision":"decline"}})",
                          R"({"id":5,"method":"turn/steer","params":{"threadId":"T","expectedTurnId":"N",)"
                          R"("input":[{"type":"text","text":"Not allowed: `ls`. Reason: not today"}]}})"));
  EXPECT_THAT(protocol->answer(ticket_of(ask("1", "c2")), {}).lines,
              ElementsAre(R"({"id":1,"result":{"decision":"decline"}})"));
}

// AGT-6: the call is forgotten by an interrupt, and nothing runs.
TEST_F(CodexTurn, deferred_call_interrupts_its_turn) {
  const std::uint64_t ticket = ticket_of(ask());
  EXPECT_THAT(protocol->answer(ticket, {.verdict = CallVerdict::defer}).lines,
              ElementsAre(R"({"id":5,"method":"turn/interrupt","params":{"threadId":"T","turnId":"N"}})"));
  // Asked while the turn ends: no.
  EXPECT_THAT(ask("7", "c9").lines, ElementsAre(R"({"id":7,"result":{"decision":"decline"}})"));
  const AgentReaction over = end_turn(R"("status":"interrupted")");
  ASSERT_EQ(events_of<TurnOver>(over).size(), 1U);
  EXPECT_EQ(events_of<TurnOver>(over)[0].end, TurnEnd::deferred);
  EXPECT_TRUE(over.closes_input);
  // It comes after the end (measured) and means nothing.
  EXPECT_THAT(notify("serverRequest/resolved", R"({"threadId":"T","requestId":0})").events, IsEmpty());
}

TEST_F(CodexTurn, several_open_calls_cannot_be_released) {
  ask("0", "c1");
  ask("1", "c2");
  EXPECT_FALSE(protocol->may_release("c1"));
  const AgentReaction reaction = protocol->interrupt();
  EXPECT_EQ(events_of<CallWithdrawn>(reaction).size(), 2U);
  EXPECT_EQ(events_of<TurnOver>(end_turn(R"("status":"interrupted")"))[0].end, TurnEnd::interrupted);
}

TEST_F(CodexTurn, change_of_files_is_asked_about_with_its_changes) {
  start_item(R"({"type":"fileChange","id":"f","changes":[{"path":"/work/a","kind":{"type":"add"},"diff":"x"}]})");
  const AgentReaction reaction = request("3", "item/fileChange/requestApproval", of_turn(R"("itemId":"f")"));
  const auto asked = events_of<CallAsked>(reaction);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].tool, "fileChange");
  EXPECT_EQ(json::encode(asked[0].arguments), R"({"changes":[{"path":"/work/a","kind":{"type":"add"},"diff":"x"}]})");
  EXPECT_THAT(protocol->answer(asked[0].ticket, {.verdict = CallVerdict::allow}).lines,
              ElementsAre(R"({"id":3,"result":{"decision":"accept"}})"));
}

TEST_F(CodexTurn, changes_that_are_not_known_or_altered_are_never_allowed) {
  EXPECT_THAT(request("3", "item/fileChange/requestApproval", of_turn(R"("itemId":"f")")).lines,
              ElementsAre(R"({"id":3,"result":{"decision":"decline"}})"));
  start_item(R"({"type":"fileChange","id":"f","changes":[]})");
  EXPECT_THAT(request("4", "item/fileChange/requestApproval", of_turn(R"("itemId":"f")")).lines,
              ElementsAre(R"({"id":4,"result":{"decision":"decline"}})"));
  notify("item/fileChange/patchUpdated", of_turn(R"("itemId":"f","changes":[{"path":"/a"}])"));
  EXPECT_EQ(events_of<CallAsked>(request("5", "item/fileChange/requestApproval", of_turn(R"("itemId":"f")"))).size(),
            1U);
  EXPECT_THAT(fault_of(notify("item/fileChange/patchUpdated", of_turn(R"("itemId":"f","changes":[{"path":"/b"}])"))),
              StartsWith("ungated: "));
}

// TOOL-9: what asks for more than this call, or does not say what for, is declined.
TEST_F(CodexTurn, requests_for_more_than_the_call_are_declined) {
  const auto declined = [&](const std::string& members) {
    const AgentReaction reaction = request("9", "item/commandExecution/requestApproval", of_turn(members));
    EXPECT_THAT(events_of<CallAsked>(reaction), IsEmpty()) << members;
    EXPECT_THAT(reaction.lines, ElementsAre(R"({"id":9,"result":{"decision":"decline"}})")) << members;
  };
  const std::string call = R"("itemId":"i","command":"ls","cwd":"/work",)";
  declined(call + R"("kind":"writeStdin")");
  declined(call + R"("kind":7)");
  declined(call + R"("approvalId":"x")");
  declined(call + R"("networkApprovalContext":{"host":"x"})");
  declined(call + R"("additionalPermissions":{})");
  declined(R"("command":"ls","cwd":"/work")");
  declined(R"("itemId":"i","cwd":"/work")");
  declined(R"("itemId":"i","command":"","cwd":"/work")");
  declined(R"("itemId":"i","command":["ls"],"cwd":"/work")");
  declined(R"("itemId":"i","command":"ls")");
  declined(R"("itemId":"i","command":"ls","cwd":"work")");
  start_item(R"({"type":"commandExecution","id":"i","command":"ls","cwd":"/work"})");
  declined(R"("itemId":"i","command":"rm -r .","cwd":"/work")");
  EXPECT_EQ(
      events_of<CallAsked>(request("9", "item/commandExecution/requestApproval", of_turn(R"("itemId":"i")"))).size(),
      1U);
}

TEST_F(CodexTurn, reason_and_other_places_are_part_of_the_question) {
  const AgentReaction reaction =
      request("9", "item/commandExecution/requestApproval",
              of_turn(R"("itemId":"i","command":"ls","cwd":"/work","reason":"needs it","environmentId":"box")"));
  const auto asked = events_of<CallAsked>(reaction);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(json::encode(asked[0].arguments),
            R"({"command":"ls","cwd":"/work","environment":"box","reason":"needs it"})");
  // Announced afterwards: the same call.
  EXPECT_EQ(fault_of(start_item(R"({"type":"commandExecution","id":"i","command":"ls","cwd":"/work"})")), "");
}

// TOOL-9: an unknown request is never answered yes.
TEST_F(CodexTurn, other_requests_are_refused_in_their_own_shape) {
  const auto refusal = [&](const std::string& method) {
    const AgentReaction reaction = request("1", method, of_turn(R"("itemId":"i")"));
    EXPECT_THAT(reaction.events, IsEmpty()) << method;
    return reaction.lines.size() == 1 ? reaction.lines[0] : "";
  };
  EXPECT_EQ(refusal("item/permissions/requestApproval"), R"({"id":1,"result":{"permissions":{},"scope":"turn"}})");
  EXPECT_EQ(refusal("item/tool/requestUserInput"), R"({"id":1,"result":{"answers":{}}})");
  EXPECT_EQ(refusal("mcpServer/elicitation/request"), R"({"id":1,"result":{"action":"decline","content":null}})");
  EXPECT_EQ(refusal("item/tool/call"), R"({"id":1,"result":{"contentItems":[],"success":false}})");
  EXPECT_THAT(refusal("execCommandApproval"), HasSubstr(R"({"decision":{"denied":)"));
  EXPECT_THAT(refusal("applyPatchApproval"), HasSubstr(R"({"decision":{"denied":)"));
  for (const char* method : {"attestation/generate", "account/chatgptAuthTokens/refresh", "x", "", "turn/started"}) {
    EXPECT_THAT(refusal(method), HasSubstr(R"("code":-32601)")) << method;
  }
}

TEST_F(CodexTurn, second_request_with_an_open_id_takes_both_back) {
  const std::uint64_t ticket = ticket_of(ask());
  const AgentReaction reaction = ask("0", "c2");
  EXPECT_EQ(events_of<CallWithdrawn>(reaction).size(), 1U);
  EXPECT_THAT(reaction.lines, ElementsAre(HasSubstr(R"("id":0,"error")")));
  EXPECT_THAT(protocol->answer(ticket, {.verdict = CallVerdict::allow}).lines, IsEmpty());
}

TEST_F(CodexTurn, open_requests_are_bounded) {
  for (std::size_t i = 0; i < max_open_questions; ++i) ask(std::to_string(i), "c" + std::to_string(i));
  EXPECT_THAT(ask("1000", "c1000").lines, ElementsAre(R"({"id":1000,"result":{"decision":"decline"}})"));
}

TEST_F(CodexTurn, request_that_somebody_else_answered_is_told) {
  ask();
  const AgentReaction reaction = notify("serverRequest/resolved", R"({"threadId":"T","requestId":0})");
  EXPECT_EQ(events_of<CallWithdrawn>(reaction).size(), 1U);
  ASSERT_EQ(events_of<AnsweredElsewhere>(reaction).size(), 1U);
  EXPECT_EQ(events_of<AnsweredElsewhere>(reaction)[0].call, "c1");
  // Own answers are resolved too.
  protocol->answer(ticket_of(ask("1", "c2")), {.verdict = CallVerdict::allow});
  EXPECT_THAT(notify("serverRequest/resolved", R"({"threadId":"T","requestId":1})").events, IsEmpty());
  EXPECT_EQ(events_of<AnsweredElsewhere>(
                notify("item/autoApprovalReview/completed", of_turn(R"("targetItemId":"c5","review":{})")))[0]
                .call,
            "c5");
}

TEST_F(CodexTurn, results_are_told_with_their_digest) {
  ask();
  const auto ended = events_of<CallEnded>(complete_item(
      R"({"type":"commandExecution","id":"c1","status":"completed","exitCode":0,"aggregatedOutput":"hi\n"})"));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].call, "c1");
  EXPECT_FALSE(ended[0].has_failed);
  EXPECT_EQ(ended[0].bytes, 3);
  EXPECT_THAT(ended[0].digest, StartsWith("sha256:"));
  const auto declined =
      events_of<CallEnded>(complete_item(R"({"type":"commandExecution","id":"c2","status":"declined"})"));
  ASSERT_EQ(declined.size(), 1U);
  EXPECT_TRUE(declined[0].has_failed);
  EXPECT_TRUE(declined[0].was_refused);
  EXPECT_THAT(events_of<TurnOver>(end_turn(R"("status":"completed")"))[0].refused, ElementsAre("c2"));
}

// AGT-5: a result of what nobody was asked about is counted, whatever it is.
TEST_F(CodexTurn, items_that_were_never_asked_about_are_calls) {
  const std::vector<std::pair<std::string, std::string>> items = {
      {R"({"type":"mcpToolCall","id":"i","server":"s","tool":"t","arguments":{"a":1},"status":"completed"})",
       R"(mcpToolCall {"server":"s","tool":"t","arguments":{"a":1}})"},
      {R"({"type":"webSearch","id":"i","query":"q"})", R"(webSearch {"query":"q"})"},
      {R"({"type":"collabAgentToolCall","id":"i","tool":"spawnAgent","status":"completed"})",
       R"(collabAgentToolCall {"tool":"spawnAgent"})"},
      {R"({"type":"imageView","id":"i","path":"/etc/x"})", R"(imageView {"path":"/etc/x"})"},
      {R"({"type":"fromTheFuture","id":"i"})", R"(fromTheFuture {})"},
      {R"({"id":"i"})", R"(unknown {})"},
  };
  for (const auto& [item, expected] : items) {
    const AgentReaction reaction = complete_item(item);
    const auto announced = events_of<CallAnnounced>(reaction);
    ASSERT_EQ(announced.size(), 1U) << item;
    EXPECT_EQ(announced[0].tool + " " + json::encode(announced[0].arguments), expected);
    EXPECT_EQ(events_of<CallEnded>(reaction).size(), 1U) << item;
  }
  EXPECT_EQ(events_of<CallEnded>(complete_item(R"({"type":"webSearch"})"))[0].call, "no-id");
  for (const char* type : {"userMessage", "reasoning", "plan", "contextCompaction", "hookPrompt", "sleep"}) {
    EXPECT_THAT(complete_item(R"({"type":")" + std::string(type) + R"(","id":"i"})").events, IsEmpty()) << type;
  }
}

// AGT-5: the model types into an approved command without being asked about it (measured, where a terminal is allowed).
TEST_F(CodexTurn, text_typed_into_a_command_is_a_call) {
  const AgentReaction reaction =
      notify("item/commandExecution/terminalInteraction", of_turn(R"("itemId":"c1","processId":"7","stdin":"rm *\n")"));
  ASSERT_EQ(events_of<CallAnnounced>(reaction).size(), 1U);
  EXPECT_EQ(events_of<CallAnnounced>(reaction)[0].tool, "writeStdin");
  EXPECT_EQ(events_of<CallAnnounced>(reaction)[0].parent, "c1");
  EXPECT_EQ(events_of<CallEnded>(reaction)[0].call, events_of<CallAnnounced>(reaction)[0].call);
  EXPECT_THAT(notify("item/commandExecution/terminalInteraction", of_turn(R"("itemId":"c1","stdin":"")")).events,
              IsEmpty());
}

TEST_F(CodexTurn, two_calls_with_one_id_are_a_fault) {
  start_item(R"({"type":"commandExecution","id":"i","command":"ls","cwd":"/work"})");
  EXPECT_EQ(fault_of(start_item(R"({"type":"commandExecution","id":"i","command":"ls","cwd":"/work"})")), "");
  EXPECT_THAT(fault_of(start_item(R"({"type":"commandExecution","id":"i","command":"rm","cwd":"/work"})")),
              StartsWith("ungated: "));
}

TEST_F(CodexTurn, open_calls_are_bounded) {
  std::string fault;
  for (int i = 0; i <= 1'024 && fault.empty(); ++i) {
    fault = fault_of(start_item(R"({"type":"webSearch","id":"i)" + std::to_string(i) + R"(","query":"q"})"));
  }
  EXPECT_THAT(fault, HasSubstr("more than 1,024 calls"));
}

TEST_F(CodexTurn, final_answer_is_the_last_message_of_the_own_thread) {
  EXPECT_EQ(events_of<TextSaid>(complete_item(R"({"type":"agentMessage","id":"m","text":"working"})"))[0].text,
            "working");
  complete_item(R"({"type":"agentMessage","id":"m","text":"done"})");
  notify("item/completed", R"({"threadId":"S","item":{"type":"agentMessage","id":"n","text":"a subagent"}})");
  EXPECT_THAT(notify("turn/completed", R"({"threadId":"S","turn":{"id":"N","status":"completed"}})").events, IsEmpty());
  EXPECT_THAT(notify("turn/completed", R"({"threadId":"T","turn":{"id":"M","status":"completed"}})").events, IsEmpty());
  const AgentReaction over = end_turn(R"("status":"completed")");
  EXPECT_EQ(events_of<TurnOver>(over)[0].end, TurnEnd::completed);
  EXPECT_EQ(events_of<TurnOver>(over)[0].text, "done");
  EXPECT_TRUE(over.closes_input);
}

TEST_F(CodexTurn, next_prompt_is_said_after_the_turn) {
  EXPECT_THAT(protocol->say("and then").lines, IsEmpty());
  const AgentReaction over = end_turn(R"("status":"completed")");
  EXPECT_FALSE(over.closes_input);
  EXPECT_THAT(over.lines, ElementsAre(HasSubstr(R"("text":"and then")")));
  notify("turn/started", R"({"threadId":"T","turn":{"id":"N"}})");
  EXPECT_TRUE(end_turn(R"("status":"completed")").closes_input);
  EXPECT_THAT(protocol->say("more").lines, ElementsAre(HasSubstr(R"("text":"more")")));
}

TEST_F(CodexTurn, usage_is_of_the_session) {
  const auto usage = events_of<UsageTotals>(
      notify("thread/tokenUsage/updated",
             of_turn(R"("tokenUsage":{"total":{"inputTokens":200,"outputTokens":40,"cachedInputTokens":-5},)"
                     R"("last":{"totalTokens":120},"modelContextWindow":258400})")));
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].input_tokens, 200);
  EXPECT_EQ(usage[0].output_tokens, 40);
  EXPECT_EQ(usage[0].cached_tokens, 0);
  EXPECT_TRUE(usage[0].tokens_are_of_session);
  EXPECT_EQ(usage[0].context_used, 120);
  EXPECT_EQ(usage[0].context_size, 258400);
}

// RUN-18: the reset time comes from a structured field, of the window that is used up.
TEST_F(CodexTurn, usage_limit_is_told_once_with_its_reset_time) {
  const auto windows = events_of<LimitWindow>(notify(
      "account/rateLimits/updated",
      R"({"rateLimits":{"limitId":"codex","primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1795130000},)"
      R"("secondary":{"usedPercent":40,"windowDurationMins":10080,"resetsAt":1795990000}}})"));
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].name, "5h");
  EXPECT_EQ(windows[0].used_percent, 100);
  EXPECT_EQ(windows[1].name, "7d");
  const std::string error = R"("error":{"message":"limit hit","codexErrorInfo":"usageLimitExceeded"})";
  const auto reached = events_of<LimitReached>(notify("error", of_turn(error + R"(,"willRetry":false)")));
  ASSERT_EQ(reached.size(), 1U);
  EXPECT_EQ(reached[0].text, "limit hit");
  EXPECT_EQ(reached[0].resets_at, base::WallTime(std::chrono::seconds(1795130000)));
  const AgentReaction over = end_turn(R"("status":"failed",)" + error);
  EXPECT_THAT(events_of<LimitReached>(over), IsEmpty());
  EXPECT_EQ(events_of<TurnOver>(over)[0].end, TurnEnd::failed);
  EXPECT_EQ(events_of<TurnOver>(over)[0].text, "limit hit");
}

TEST_F(CodexTurn, limit_without_a_window_that_is_used_up_has_no_time) {
  notify("account/rateLimits/updated", R"({"rateLimits":{"primary":{"usedPercent":99,"resetsAt":1795130000}}})");
  // Beyond every possible time, and of the wrong type.
  notify("account/rateLimits/updated",
         R"({"rateLimits":{"limitId":"x","primary":{"usedPercent":100,"resetsAt":9223372036854775807}}})");
  const auto reached = events_of<LimitReached>(end_turn(
      R"("status":"failed","error":{"message":"x","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":429}}})"));
  ASSERT_EQ(reached.size(), 1U);
  EXPECT_FALSE(reached[0].resets_at.has_value());
}

// Somebody who is not logged in; a token that has expired is renewed after one refusal.
TEST_F(CodexTurn, missing_login_is_told_at_the_second_refusal) {
  const std::string refused = of_turn(
      R"("error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":401}},)"
      R"("additionalDetails":"401 Unauthorized"},"willRetry":true)");
  AgentReaction reaction = notify("error", refused);
  ASSERT_EQ(events_of<RetryNoted>(reaction).size(), 1U);
  EXPECT_EQ(events_of<RetryNoted>(reaction)[0].text, "Reconnecting... 1/5: 401 Unauthorized");
  EXPECT_THAT(events_of<LoginMissing>(reaction), IsEmpty());
  reaction = notify("error", refused);
  EXPECT_EQ(events_of<RetryNoted>(reaction)[0].attempt, 2);
  EXPECT_EQ(events_of<LoginMissing>(reaction).size(), 1U);
  EXPECT_THAT(events_of<LoginMissing>(notify("error", refused)), IsEmpty());
  run();
  EXPECT_EQ(
      events_of<LoginMissing>(
          notify("error", of_turn(R"("error":{"message":"x","codexErrorInfo":"unauthorized"},"willRetry":false)")))
          .size(),
      1U);
}

TEST_F(CodexTurn, changed_model_is_told) {
  const auto sessions = events_of<SessionOpened>(notify("model/rerouted", of_turn(R"("toModel":"m2")")));
  ASSERT_EQ(sessions.size(), 1U);
  EXPECT_EQ(sessions[0].model, "m2");
}

}  // namespace
}  // namespace reeve::agents
