#include "agents/protocol/gemini_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/files.h"
#include "tests/support/protocol_events.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Lines = std::vector<std::string>;

Lines read(AgentProtocol& protocol, const Lines& lines) {
  Lines all;
  for (const std::string& line : lines) {
    for (std::string& event : testing::describe(protocol.on_line(line))) all.push_back(std::move(event));
  }
  return all;
}

Lines read(const Lines& lines) { return read(*make_gemini_protocol({}), lines); }

std::string call(const std::string& id) {
  return R"({"type":"tool_use","tool_name":"glob","tool_id":")" + id + R"(","parameters":{"pattern":"*"}})";
}
std::string result_of(const std::string& id, const std::string& rest = R"("status":"success","output":"x")") {
  return R"({"type":"tool_result","tool_id":")" + id + "\"," + rest + "}";
}
std::string piece(const std::string& text) {
  return R"({"type":"message","role":"assistant","delta":true,"content":")" + text + R"("})";
}
const std::string done = R"({"type":"result","status":"success"})";

class RecordedGemini : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedGemini, is_understood) {
  const auto folder = testing::source_folder() / "tests/golden/agents";
  const std::string transcript = testing::read_text(folder / "transcripts" / (GetParam() + ".jsonl"));
  Lines lines;
  for (const std::string_view line : base::split(transcript, '\n')) lines.emplace_back(line);
  std::string events;
  for (const std::string& event : read(lines)) events += event + "\n";
  testing::expect_golden(folder / "events" / (GetParam() + ".txt"), events);
}

INSTANTIATE_TEST_SUITE_P(Transcripts, RecordedGemini,
                         ::testing::Values("gemini-p.stream-json.yolo", "gemini-hook.deny"),
                         [](const auto& param) { return param.param == "gemini-hook.deny" ? "hook_deny" : "yolo"; });

TEST(GeminiProtocol, every_call_passes_the_hook) {
  const auto protocol = make_gemini_protocol({});
  EXPECT_EQ(protocol->reach(), GateReach::gated);
  EXPECT_EQ(protocol->release_way(), ReleaseWay::end);
  EXPECT_EQ(protocol->server_address(), "");
  EXPECT_THAT(testing::describe(protocol->begin()), IsEmpty());
  EXPECT_THAT(testing::describe(protocol->answer(1, {.verdict = CallVerdict::allow})), IsEmpty());
  EXPECT_THAT(testing::describe(protocol->interrupt()), IsEmpty());
  EXPECT_THAT(testing::describe(protocol->say("more")), IsEmpty());
}

TEST(GeminiProtocol, the_session_is_read_from_the_first_line) {
  EXPECT_THAT(read({R"({"type":"init","session_id":"s1","model":"gemini-3"})"}),
              ElementsAre("session s1 model=gemini-3"));
  EXPECT_THAT(read({R"({"type":"init","session_id":"s1"})"}), ElementsAre("session s1"));
  EXPECT_THAT(read({R"({"type":"init","session_id":7})"}), IsEmpty());
}

TEST(GeminiProtocol, pieces_of_a_text_are_joined) {
  EXPECT_THAT(
      read({piece("I will"), piece(" look."), call("c1"), piece("Done"), piece("."), done}),
      ElementsAre("text I will look.", R"(announced c1 glob {"pattern":"*"})", "text Done.", "over completed: Done."));
  EXPECT_THAT(read({R"({"type":"message","role":"assistant","content":"whole"})",
                    R"({"type":"message","role":"user","content":"prompt"})", piece(" \\n"), done}),
              ElementsAre("text whole", "over completed: whole"));
}

TEST(GeminiProtocol, long_texts_are_cut) {
  const Lines events = read({piece(std::string(max_event_text - 1, 'a')), piece("ä"), piece("more"), done});
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events.front().size(), std::string_view("text ").size() + max_event_text - 1 + 1)
      << "the ä does not fit, one byte of `more` does";
}

TEST(GeminiProtocol, calls_are_announced_and_end) {
  EXPECT_THAT(
      read({call("c1"), result_of("c1"), call("c2"), result_of("c2", R"("status":"error","output":"no such file",
                    "error":{"type":"file_not_found","message":"no"})")}),
      ElementsAre(R"(announced c1 glob {"pattern":"*"})", "ended c1 1 bytes", R"(announced c2 glob {"pattern":"*"})",
                  "ended c2 failed 12 bytes"));
}

// AGT-5: a call that never reached its tool is not one that passed the gate.
TEST(GeminiProtocol, refused_calls_did_not_run) {
  for (const char* type : {"policy_violation", "invalid_tool_params", "tool_not_registered"}) {
    const std::string error = R"("status":"error","error":{"type":")" + std::string(type) + R"(","message":"m"})";
    EXPECT_THAT(
        read({call("c1"), result_of("c1", error), done}),
        ElementsAre(StartsWith("announced"), "ended c1 failed refused 1 bytes", "over completed: , refused c1"));
  }
  EXPECT_THAT(read({result_of("c1", R"("status":"error","error":{"message":"Tool execution blocked: no"})")}),
              ElementsAre("ended c1 failed refused 26 bytes"));
  EXPECT_THAT(read({result_of("c1", R"("status":"error","output":"Tool execution blocked",
                    "error":{"type":"execution_failed","message":"Tool execution blocked: says the tool"})")}),
              ElementsAre("ended c1 failed 22 bytes"));
  EXPECT_THAT(read({result_of("c1", R"("status":"success","output":"Tool execution blocked")")}),
              ElementsAre("ended c1 22 bytes"));
}

// AGT-6: a person can be waited for without the process if exactly one call is open.
TEST(GeminiProtocol, one_open_call_may_be_released) {
  const auto protocol = make_gemini_protocol({});
  const auto may_release = [&] { return protocol->may_release("made up by the hook"); };
  EXPECT_FALSE(may_release());
  read(*protocol, {call("c1")});
  EXPECT_TRUE(may_release());
  read(*protocol, {call("c2")});
  EXPECT_FALSE(may_release());
  read(*protocol, {result_of("c1")});
  EXPECT_TRUE(may_release());
  read(*protocol, {call("c2")});
  EXPECT_FALSE(may_release()) << "two calls with one id";
  read(*protocol, {result_of("c2"), result_of("c2")});
  EXPECT_FALSE(may_release());
}

TEST(GeminiProtocol, usage_is_that_of_the_process) {
  EXPECT_THAT(
      read({R"({"type":"result","status":"success","stats":{"input_tokens":200,"output_tokens":40,"cached":7}})"}),
      ElementsAre("usage 200 in, 40 out, 7 cached", "over completed: "));
  EXPECT_THAT(
      read({R"({"type":"result","status":"success","stats":{"input_tokens":-1,"output_tokens":"x","cached":1e300}})"}),
      ElementsAre("usage 0 in, 0 out, 1000000000000 cached", "over completed: "));
}

TEST(GeminiProtocol, a_failed_turn_says_why) {
  EXPECT_THAT(read({R"({"type":"result","status":"error","error":{"type":"Error","message":"no network"}})"}),
              ElementsAre("over failed: no network"));
  EXPECT_THAT(read({R"({"type":"error","severity":"error","message":"empty answer"})",
                    R"({"type":"result","status":"error"})"}),
              ElementsAre("over failed: empty answer"));
  EXPECT_THAT(read({R"({"type":"result","status":"error"})"}),
              ElementsAre("over failed: Gemini CLI failed without a reason"));
  EXPECT_THAT(read({R"({"type":"result"})"}), ElementsAre(StartsWith("over failed")));
  EXPECT_THAT(read({R"({"type":"error","message":"Loop detected, stopping execution"})", done}),
              ElementsAre("over failed: Loop detected, stopping execution"));
  EXPECT_THAT(read({R"({"type":"error","severity":"warning","message":"w"})", piece("Done."), done}),
              ElementsAre("text Done.", "over completed: Done."));
}

TEST(GeminiProtocol, a_turn_ends_once) {
  EXPECT_THAT(read({done, done, R"({"type":"result","status":"error"})"}), ElementsAre("over completed: "));
}

// RUN-18: without a time, which Gemini gives only in a text.
TEST(GeminiProtocol, a_usage_limit_is_recognised) {
  const std::string text = "You have exhausted your daily quota on this model.";
  EXPECT_THAT(read({R"({"type":"result","status":"error","error":{"type":"Error","message":")" + text + "\"}}"}),
              ElementsAre("limit " + text, "over failed: " + text));
  EXPECT_THAT(read({R"({"type":"result","status":"error","error":{"type":"TerminalQuotaError","message":"m"}})"}),
              ElementsAre("limit m", "over failed: m"));
}

TEST(GeminiProtocol, a_missing_login_is_told_by_the_exit_code) {
  const auto protocol = make_gemini_protocol({});
  EXPECT_THAT(testing::describe(protocol->on_exit(41)),
              ElementsAre("login missing: Gemini CLI is not logged in",
                          "over failed: Gemini CLI exited with code 41 without a result"));
  const auto other = make_gemini_protocol({});
  EXPECT_THAT(read(*other, {R"({"type":"result","status":"error",)"
                            R"("error":{"type":"FatalAuthenticationError","message":"log in"}})"}),
              ElementsAre("login missing: log in", "over failed: log in"));
  EXPECT_THAT(testing::describe(other->on_exit(41)), IsEmpty());
}

TEST(GeminiProtocol, an_end_without_a_result_is_a_failure) {
  const auto protocol = make_gemini_protocol({});
  read(*protocol, {piece("Half a sen")});
  EXPECT_THAT(testing::describe(protocol->on_exit(0)),
              ElementsAre("text Half a sen", "over failed: Gemini CLI exited with code 0 without a result"));
  EXPECT_THAT(testing::describe(make_gemini_protocol({})->on_exit(130)), ElementsAre(StartsWith("over interrupted")));
  const auto finished = make_gemini_protocol({});
  read(*finished, {done});
  EXPECT_THAT(testing::describe(finished->on_exit(1)), IsEmpty());
}

TEST(GeminiProtocol, other_output_is_ignored_up_to_a_bound) {
  const auto protocol = make_gemini_protocol({});
  EXPECT_THAT(
      read(*protocol, {"", "  ", "[WARN] something", "{ multi:", "[1]", "7", R"({"type":"news","x":[]})", "{}"}),
      IsEmpty());
  EXPECT_THAT(read(*protocol, Lines(996, "noise")), IsEmpty());
  EXPECT_THAT(read(*protocol, {"noise"}), ElementsAre("fault Gemini CLI does not write stream-json"));
  EXPECT_THAT(read(*protocol, {done}), IsEmpty()) << "nothing is believed after a fault";
  EXPECT_THAT(testing::describe(protocol->on_exit(41)), IsEmpty());
}

TEST(GeminiProtocol, hostile_lines_do_no_harm) {
  const std::string deep = std::string(5000, '[');
  for (const char* type : {"init", "message", "tool_use", "tool_result", "error", "result"}) {
    for (const std::string& value : {std::string("null"), std::string("[]"), std::string("{}"), std::string("-1e300"),
                                     std::string("true"), std::string("\"\\ud800\""), deep}) {
      std::string line = R"({"type":")" + std::string(type) + "\"";
      for (const char* key : {"session_id", "model", "role", "content", "delta", "tool_name", "tool_id", "parameters",
                              "status", "output", "error", "severity", "message", "stats"}) {
        line += ",\"" + std::string(key) + "\":" + value;
      }
      read({line + "}"});
    }
  }
  EXPECT_THAT(read({R"({"type":"tool_use","tool_name":"x","parameters":{}})"}),
              ElementsAre(HasSubstr("without an id")));
  EXPECT_THAT(read({R"({"type":"tool_result","status":"success"})"}), ElementsAre(HasSubstr("without an id")));
  EXPECT_THAT(read({std::string(max_agent_line + 1, ' ') + "x"}), ElementsAre(HasSubstr("longer than 16 MiB")));
  const auto protocol = make_gemini_protocol({});
  for (int i = 0; i < 1000; ++i) read(*protocol, {call(std::to_string(i))});
  EXPECT_THAT(read(*protocol, {call("more")}), ElementsAre(HasSubstr("over 1000 tool calls open")));
}

// AGT-5: measured with Gemini CLI 0.61.0 below a folder such as /tmp.
TEST(GeminiProtocol, settings_that_are_not_read_are_ungated) {
  const auto protocol = make_gemini_protocol({});
  EXPECT_TRUE(protocol->on_error_line("YOLO mode is enabled.").events.empty());
  const AgentReaction reaction = protocol->on_error_line(
      "Security Warning: Skipping system settings file '/x/gemini-settings.json': Parent directory '/tmp' is insecure");
  ASSERT_EQ(reaction.events.size(), 1U);
  const auto* fault = std::get_if<ProtocolFault>(&reaction.events.front());
  ASSERT_NE(fault, nullptr);
  EXPECT_TRUE(fault->is_ungated);
}

}  // namespace
}  // namespace reeve::agents
