#include "agents/protocol/claude_protocol.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/support/claude_lines.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using testing::asks;
using testing::claude_fault_of;
using testing::claude_init;
using testing::only;
using testing::play;
using testing::result_of;
using testing::starts;
using testing::starts_call;
using testing::stops;
using testing::stream;
using testing::tool_use;
using testing::turn;

std::unique_ptr<AgentProtocol> claude() { return make_claude_protocol({.prompt = "write x"}); }
std::unique_ptr<AgentProtocol> qwen() { return make_qwen_protocol({.prompt = "write x"}); }

TEST(ClaudeProtocol, resumed_deferred_call_gets_no_prompt) {
  EXPECT_THAT(claude()->begin().lines, SizeIs(2));
  EXPECT_THAT(make_claude_protocol({.prompt = "go on", .resumes = true})->begin().lines,
              ElementsAre(HasSubstr(R"("subtype":"initialize","hooks":null)"), HasSubstr(R"("content":"go on")")));
  EXPECT_THAT(make_claude_protocol({.prompt = "go on", .resumes = true, .has_deferred_call = true})->begin().lines,
              SizeIs(1));
  EXPECT_THAT(make_claude_protocol({})->begin().lines, SizeIs(1));
  EXPECT_THAT(claude()->say("more").lines, ElementsAre(HasSubstr(R"("content":"more")")));
}

// Qwen Code has only its first prompt, which is the whole standard input.
TEST(ClaudeProtocol, nothing_is_written_to_qwen) {
  const auto protocol = qwen();
  EXPECT_THAT(protocol->begin().lines, IsEmpty());
  EXPECT_THAT(protocol->interrupt().lines, IsEmpty());
  EXPECT_THAT(protocol->say("more").lines, IsEmpty());
  EXPECT_EQ(protocol->release_way(), ReleaseWay::end);
  EXPECT_EQ(claude()->release_way(), ReleaseWay::defer);
  EXPECT_EQ(protocol->reach(), GateReach::gated);
  EXPECT_THAT(claude_fault_of(play(*protocol, {asks("r1", "t1")})), HasSubstr("although its hook decides"));
}

// AGT-5: the mode is verified after each start.
TEST(ClaudeProtocol, another_permission_mode_is_ungated) {
  const std::string init = R"({"type":"system","subtype":"init","session_id":"s-1")";
  EXPECT_THAT(claude_fault_of(play(*claude(), {init + R"(,"permissionMode":"bypassPermissions"})"})),
              HasSubstr("ungated: Claude Code runs in permission mode `bypassPermissions` instead of `default`"));
  EXPECT_THAT(claude_fault_of(play(*claude(), {init + "}"})), HasSubstr("ungated: Claude Code runs in an unknown"));
  EXPECT_THAT(claude_fault_of(play(*claude(), {init + R"(,"permissionMode":7})"})), HasSubstr("ungated"));
  EXPECT_THAT(claude_fault_of(play(*qwen(), {init + R"(,"permission_mode":"auto"})"})),
              HasSubstr("ungated: Qwen Code runs in permission mode `auto` instead of `yolo`"));
  const std::string status = R"({"type":"system","subtype":"status","permissionMode":)";
  EXPECT_THAT(claude_fault_of(play(*claude(), {claude_init, status + "\"acceptEdits\"}"})), HasSubstr("ungated"));
  EXPECT_EQ(claude_fault_of(play(*claude(), {claude_init, status + "\"plan\"}", status + "\"default\"}"})), "no fault");
}

TEST(ClaudeProtocol, answer_to_initialize_is_verified) {
  const auto response = [](const std::string& members) {
    return claude_fault_of(
        play(*claude(), {R"({"type":"control_response","response":{"request_id":"init",)" + members + "}}"}));
  };
  EXPECT_EQ(response(R"("subtype":"success","response":{"current_permission_mode":"default"})"), "no fault");
  EXPECT_EQ(response(R"("subtype":"success","response":{})"), "no fault");
  EXPECT_THAT(response(R"("subtype":"success","response":{"current_permission_mode":"auto"})"), HasSubstr("ungated"));
  EXPECT_THAT(response(R"("subtype":"success","response":{"hook_on_failure_supported":false})"),
              HasSubstr("ungated: Claude Code runs calls whose hook fails"));
  EXPECT_EQ(response(R"("subtype":"error","error":"no\n")"), "Claude Code refused the control protocol: no\\n");
  EXPECT_THAT(response(R"("subtype":7)"), HasSubstr("no reason given"));
}

TEST(ClaudeProtocol, nothing_is_believed_after_a_fault) {
  const auto protocol = claude();
  ASSERT_THAT(only<CallAsked>(play(*protocol, {asks("r1", "t1")})), SizeIs(1));
  play(*protocol, {R"({"type":"system","subtype":"init","permissionMode":"auto"})"});
  EXPECT_THAT(protocol->answer(1, {CallVerdict::allow, ""}).lines, IsEmpty());
  const AgentReaction later = play(*protocol, {claude_init, asks("r2", "t2"), turn(R"("is_error":false)")});
  EXPECT_THAT(later.events, IsEmpty());
  EXPECT_THAT(later.lines, IsEmpty());
  EXPECT_THAT(protocol->interrupt().lines, IsEmpty());
}

TEST(ClaudeProtocol, session_is_told_when_it_changes) {
  const auto protocol = claude();
  const auto opened = only<SessionOpened>(play(*protocol, {claude_init, claude_init}));
  ASSERT_THAT(opened, SizeIs(1));
  EXPECT_EQ(opened[0].session, "s-1");
  EXPECT_EQ(opened[0].version, "2.1.325");
  EXPECT_EQ(opened[0].model, "opus");
  std::string other = claude_init;
  other.replace(other.find("s-1"), 3, "s-2");
  EXPECT_THAT(only<SessionOpened>(play(*protocol, {other})), SizeIs(1));
}

// An id that would be an option of the next start is none.
TEST(ClaudeProtocol, session_ids_cannot_be_options) {
  for (const std::string& id : {std::string(), std::string("--yolo"), std::string("a b"), std::string("a\\u001b"),
                                std::string("ä"), std::string(257, 'x')}) {
    const std::string init =
        R"({"type":"system","subtype":"init","permissionMode":"default","session_id":")" + id + "\"}";
    EXPECT_THAT(play(*claude(), {init}).events, IsEmpty()) << id;
  }
}

TEST(ClaudeProtocol, text_is_bounded) {
  const std::string text(max_event_text + 10, 'x');
  const auto said =
      only<TextSaid>(play(*claude(), {R"({"type":"assistant","message":{"content":[{"type":"text","text":")" + text +
                                      R"("},{"type":"text","text":""},{"type":"thinking","thinking":"hm"}]}})"}));
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].text.size(), max_event_text);
}

TEST(ClaudeProtocol, calls_of_subagents_name_their_parent) {
  const auto protocol = claude();
  const AgentReaction reaction =
      play(*protocol, {tool_use("m1", "t1"), tool_use("m2", "t2", "\"t1\""), asks("r", "t2")});
  const auto announced = only<CallAnnounced>(reaction);
  ASSERT_THAT(announced, SizeIs(2));
  EXPECT_EQ(announced[0].parent, std::nullopt);
  EXPECT_EQ(announced[1].parent, "t1");
  EXPECT_EQ(only<CallAsked>(reaction).at(0).parent, "t1");
}

// --- Results ---

TEST(ClaudeProtocol, results_have_the_digest_of_their_content) {
  const auto ended = only<CallEnded>(play(
      *claude(),
      {result_of("t1", false),
       R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text"}]}]}})",
       R"({"type":"user","message":{"content":[{"type":"tool_result"},{"type":"text","text":"x"}]}})",
       R"({"type":"user","message":{"content":"only text"}})"}));
  ASSERT_THAT(ended, SizeIs(3));
  EXPECT_EQ(ended[0].digest, "sha256:" + base::sha256_hex("hi"));
  EXPECT_EQ(ended[0].bytes, 2);
  EXPECT_EQ(ended[1].digest, "sha256:" + base::sha256_hex(R"([{"type":"text"}])"));
  // A result that names no call is not hidden from the tripwire.
  EXPECT_EQ(ended[2].call, "");
  EXPECT_EQ(ended[2].bytes, 0);
}

TEST(ClaudeProtocol, refused_calls_are_recognised) {
  const std::string rejected = R"({"id":"t1","permission_decision":{"decision":"reject"}})";
  const std::string not_run = R"({"id":"t1","non_execution_kind":"user-rejected"})";
  const std::string accepted = R"({"id":"t1","permission_decision":{"decision":"accept"}})";
  const std::string of_other = R"({"id":"t2","permission_decision":{"decision":"reject"}})";
  const auto refused = [](std::initializer_list<std::string> lines) {
    return only<CallEnded>(play(*claude(), lines)).at(0).was_refused;
  };
  EXPECT_TRUE(refused({result_of("t1", true, rejected)}));
  EXPECT_TRUE(refused({result_of("t1", true, not_run)}));
  EXPECT_FALSE(refused({result_of("t1", true, accepted)}));
  EXPECT_FALSE(refused({result_of("t1", true, of_other)}));
  EXPECT_FALSE(refused({result_of("t1", true)}));
  EXPECT_TRUE(
      refused({R"({"type":"system","subtype":"permission_denied","tool_use_id":"t1"})", result_of("t1", true)}));
  // AGT-5: a call with a result has run, whatever the line claims.
  EXPECT_FALSE(refused({result_of("t1", false, rejected)}));
  EXPECT_FALSE(refused({tool_use("m", "t1"), result_of("t1", false, not_run)}));
}

TEST(ClaudeProtocol, own_denial_refuses_the_call) {
  const auto protocol = claude();
  play(*protocol, {tool_use("m1", "t1"), asks("r1", "t1")});
  protocol->answer(1, {CallVerdict::deny, "no"});
  EXPECT_TRUE(only<CallEnded>(play(*protocol, {result_of("t1", true)})).at(0).was_refused);
  // Once.
  EXPECT_FALSE(only<CallEnded>(play(*protocol, {result_of("t1", true)})).at(0).was_refused);
}

// --- Release (AGT-6) ---

TEST(ClaudeProtocol, only_call_of_a_whole_message_may_be_released) {
  const auto protocol = claude();
  play(*protocol, {starts("m1"), starts_call, tool_use("m1", "t1")});
  EXPECT_FALSE(protocol->may_release("t1")) << "the message still streams";
  play(*protocol, {stream(R"({"type":"content_block_stop"})"), stops});
  EXPECT_TRUE(protocol->may_release("t1"));
  EXPECT_FALSE(protocol->may_release("t2"));
  play(*protocol, {result_of("t1", false)});
  EXPECT_FALSE(protocol->may_release("t1")) << "it has ended";
}

TEST(ClaudeProtocol, one_of_several_calls_is_never_released) {
  const auto lines = claude();
  play(*lines, {starts("m1"), tool_use("m1", "t1"), tool_use("m1", "t2"), stops});
  EXPECT_FALSE(lines->may_release("t1"));
  play(*lines, {result_of("t1", false)});
  EXPECT_FALSE(lines->may_release("t2")) << "its message had two";
  const auto streamed = claude();
  play(*streamed, {starts("m1"), starts_call, tool_use("m1", "t1"), starts_call, stops});
  EXPECT_FALSE(streamed->may_release("t1"));
  const auto unusable = claude();
  play(*unusable, {starts("m1"), tool_use("m1", "t1"), tool_use("m1", ""), stops});
  EXPECT_FALSE(unusable->may_release("t1"));
  const auto other_open = claude();
  play(*other_open, {starts("m1"), tool_use("m1", "t1"), stops, starts("m2"), tool_use("m2", "t2"), stops});
  EXPECT_FALSE(other_open->may_release("t2"));
  const auto without_stream = claude();
  play(*without_stream, {tool_use("m1", "t1")});
  EXPECT_FALSE(without_stream->may_release("t1"));
}

TEST(ClaudeProtocol, calls_of_subagents_are_never_released) {
  const auto protocol = claude();
  const std::string parent = "\"t1\"";
  play(*protocol, {starts("m1"), tool_use("m1", "t1"), stops, tool_use("m2", "t2", parent),
                   stream(R"({"type":"message_start","message":{"id":"m2"}})", parent),
                   stream(R"({"type":"message_stop"})", parent)});
  EXPECT_FALSE(protocol->may_release("t2"));
  EXPECT_FALSE(protocol->may_release("t1")) << "its subagent has a call";
  play(*protocol, {result_of("t2", false)});
  EXPECT_TRUE(protocol->may_release("t1"));
  // A parent of another type is still one.
  const auto odd = claude();
  play(*odd, {starts("m1"), tool_use("m1", "t1", "7"), stops});
  EXPECT_FALSE(odd->may_release("t1"));
}

TEST(ClaudeProtocol, lines_of_qwen_are_whole_messages) {
  const auto one = qwen();
  play(*one, {tool_use("m1", "t1")});
  EXPECT_TRUE(one->may_release("t1"));
  const auto two = qwen();
  play(*two, {tool_use("m1", "t1"), tool_use("m2", "t2")});
  EXPECT_FALSE(two->may_release("t1"));
  EXPECT_FALSE(two->may_release("t2"));
}

}  // namespace
}  // namespace reeve::agents
