#include "agents/hook_dialect.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "tests/support/files.h"

namespace reeve::agents {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view fresh = "new-1";

// The hook input that the real agent wrote.
std::string recorded(const std::string& name) {
  return testing::read_text(testing::source_folder() / "tests/golden/agents" / (name + ".json"));
}

HookInput parse(HookDialect dialect, std::string_view text) { return parse_hook_input(dialect, text, fresh); }

std::string fault_of(HookDialect dialect, std::string_view text) {
  const HookInput input = parse(dialect, text);
  const auto* found = std::get_if<HookFault>(&input);
  return found != nullptr ? found->reason : "no fault";
}

struct Recorded {
  HookDialect dialect;
  std::string file;
  std::string event;
  std::string tool;
  std::string call;
};

class RecordedHook : public ::testing::TestWithParam<Recorded> {};

// TOOL-5: what the installed agents write is understood.
TEST_P(RecordedHook, is_a_call_request) {
  const Recorded& expected = GetParam();
  const HookInput input = parse(expected.dialect, recorded(expected.file));
  const auto* gate = std::get_if<GateEvent>(&input);
  ASSERT_NE(gate, nullptr);
  EXPECT_EQ(gate->event, expected.event);
  EXPECT_EQ(gate->request.tool, expected.tool);
  EXPECT_EQ(gate->request.call, expected.call);
  EXPECT_EQ(*gate->request.arguments.find("command")->as_string(), "echo hi > x.txt");
  EXPECT_EQ(gate->request.cwd, "/work/shop");
  EXPECT_EQ(gate->request.session, "session-1");
  EXPECT_EQ(gate->request.channel, model::CallChannel::hook);
  EXPECT_EQ(gate->request.dialect, base::spell(expected.dialect));
  EXPECT_FALSE(gate->request.execute);
}

INSTANTIATE_TEST_SUITE_P(
    Agents, RecordedHook,
    ::testing::Values(Recorded{HookDialect::claude, "claude-pre-tool-use", "PreToolUse", "Bash", "toolu_stub_001_0"},
                      Recorded{HookDialect::claude, "claude-permission-request", "PermissionRequest", "Bash", "new-1"},
                      Recorded{HookDialect::codex, "codex-pre-tool-use", "PreToolUse", "Bash", "call_stub_001_0"},
                      Recorded{HookDialect::gemini, "gemini-before-tool", "BeforeTool", "run_shell_command", "new-1"},
                      Recorded{HookDialect::qwen, "qwen-pre-tool-use", "PreToolUse", "run_shell_command",
                               "call_stub_001_0"}),
    [](const auto& param) {
      std::string name = param.param.file;
      std::ranges::replace(name, '-', '_');
      return name;
    });

// TOOL-9: what is not understood is denied, and the reason says why.
TEST(HookDialect, faults_name_what_is_wrong) {
  const auto claude = [](std::string_view text) { return fault_of(HookDialect::claude, text); };
  EXPECT_THAT(claude(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(claude("{\"hook_event_name\":"), HasSubstr("not valid JSON: line 1"));
  EXPECT_THAT(claude("[]"), HasSubstr("the input is a list, not an object"));
  EXPECT_THAT(claude("{}"), HasSubstr("no `hook_event_name`"));
  EXPECT_THAT(claude(R"({"hook_event_name":7})"), HasSubstr("`hook_event_name` is a whole number, not a string"));
  EXPECT_THAT(claude(R"({"hook_event_name":"BeforeTool"})"), HasSubstr("`BeforeTool` is not an event of claude"));
  EXPECT_THAT(fault_of(HookDialect::gemini, R"({"hook_event_name":"PreToolUse"})"),
              HasSubstr("not an event of gemini"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse"})"), HasSubstr("no `tool_name`"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","tool_name":""})"), HasSubstr("`tool_name` is empty"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","tool_name":"Bash"})"), HasSubstr("no `tool_input`"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":"ls"})"),
              HasSubstr("`tool_input` is a string, not an object"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"cwd":"x"})"),
              HasSubstr("`cwd` is not an absolute path"));
  EXPECT_THAT(
      claude(R"({"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"cwd":"/x","session_id":"s"})"),
      HasSubstr("no `tool_use_id`"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","hook_event_name":"Stop"})"), HasSubstr("duplicate key"));
  EXPECT_THAT(claude(R"({"hook_event_name":"PreToolUse","tool_name":")" + std::string(257, 'x') + "\"}"),
              HasSubstr("longer than 256 bytes"));
  EXPECT_THAT(claude(std::string(max_hook_input + 1, ' ')), HasSubstr("larger than 16 MiB"));
  EXPECT_THAT(claude(std::string(100'000, '[')), HasSubstr("not valid JSON"));
}

TEST(HookDialect, events_that_gate_nothing_are_no_faults) {
  for (const std::string event : {"SessionStart", "Stop", "UserPromptSubmit", "Notification", "BeforeModel"}) {
    const HookInput input = parse(HookDialect::gemini, R"({"hook_event_name":")" + event + "\"}");
    EXPECT_TRUE(std::holds_alternative<OtherEvent>(input)) << event;
  }
}

TEST(HookDialect, result_is_reported_with_its_digest) {
  HookInput input = parse(HookDialect::claude, R"({"hook_event_name":"PostToolUse","tool_use_id":"t1","duration_ms":12,
      "tool_response":{"stdout":"hi"}})");
  const auto* result = std::get_if<ResultEvent>(&input);
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->call, "t1");
  EXPECT_FALSE(result->report.failed);
  EXPECT_EQ(result->report.bytes, 15);
  EXPECT_EQ(result->report.duration_ms, 12);
  EXPECT_THAT(*result->report.digest, ::testing::StartsWith("sha256:"));
  input = parse(HookDialect::claude, R"({"hook_event_name":"PostToolUseFailure","tool_use_id":"t1"})");
  EXPECT_TRUE(std::get<ResultEvent>(input).report.failed);
  // Gemini does not identify its calls.
  EXPECT_TRUE(std::holds_alternative<OtherEvent>(parse(HookDialect::gemini, R"({"hook_event_name":"AfterTool"})")));
}

TEST(HookDialect, answers_are_those_of_the_dialect) {
  EXPECT_EQ(make_allow(HookDialect::claude, "PreToolUse", "GR-3").out,
            R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",)"
            R"("permissionDecisionReason":"GR-3"}})"
            "\n");
  EXPECT_EQ(make_allow(HookDialect::claude, "PermissionRequest", "GR-3").out,
            R"({"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}})"
            "\n");
  EXPECT_EQ(make_allow(HookDialect::codex, "PreToolUse", "GR-3"), make_no_opinion());
  EXPECT_EQ(make_allow(HookDialect::gemini, "BeforeTool", "GR-3").out, "{\"decision\":\"allow\"}\n");
  EXPECT_EQ(make_deny(HookDialect::codex, "PreToolUse", "no").out,
            R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",)"
            R"("permissionDecisionReason":"no"}})"
            "\n");
  EXPECT_EQ(make_deny(HookDialect::qwen, "PermissionRequest", "no").out,
            R"({"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny",)"
            R"("message":"no"}}})"
            "\n");
  EXPECT_EQ(make_deny(HookDialect::gemini, "BeforeTool", "no").out, "{\"decision\":\"deny\",\"reason\":\"no\"}\n");
  EXPECT_EQ(make_block("no"), (HookAnswer{.out = "", .err = "no\n", .exit_code = 2}));
}

// A reason is never missing: Codex runs a call that is denied without one.
// AGT-6
TEST(HookDialect, only_the_gate_of_claude_can_defer) {
  EXPECT_EQ(make_defer(HookDialect::claude, "PreToolUse", "AP-4").out,
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"defer\","
            "\"permissionDecisionReason\":\"AP-4\"}}\n");
  EXPECT_EQ(make_defer(HookDialect::claude, "PermissionRequest", "no"),
            make_deny(HookDialect::claude, "PermissionRequest", "no"));
  for (const HookDialect dialect : {HookDialect::codex, HookDialect::gemini, HookDialect::qwen}) {
    EXPECT_EQ(make_defer(dialect, "PreToolUse", "no"), make_deny(dialect, "PreToolUse", "no"));
  }
}

TEST(HookDialect, denials_have_a_bounded_reason) {
  EXPECT_THAT(make_deny(HookDialect::codex, "PreToolUse", "").out, HasSubstr(R"("permissionDecisionReason":"denied")"));
  EXPECT_LT(make_deny(HookDialect::codex, "PreToolUse", std::string(100'000, 'x')).out.size(), 5000U);
  const std::string odd = make_deny(HookDialect::gemini, "BeforeTool", "a\xff\nb").out;
  EXPECT_TRUE(json::parse(odd).has_value()) << odd;
}

}  // namespace
}  // namespace reeve::agents
