#include "view/call_text.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "json/parse.h"
#include "view/approval_text.h"

namespace reeve::view {
namespace {

using base::Value;
using model::ToolCall;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const base::WallTime now = *base::parse_time("2026-11-15T12:00:00.000Z");

Value arguments(const char* text) { return json::parse(text).value(); }

ToolCall waiting() {
  ToolCall call;
  call.call_id = base::CallId(5);
  call.project = model::make_project_ref("/home/ana/shop");
  call.tool_run_id = base::RunId(7);
  call.native_id = "toolu_1";
  call.native_tool = "Bash";
  call.tool = "shell_execute";
  call.arguments = arguments(R"({"command": "git push origin main"})");
  call.arguments_digest = "sha256:12ab";
  call.cwd = "/home/ana/shop";
  call.decision = model::CallDecision::ask;
  call.rule = "default";
  call.approval_id = base::ApprovalId(3);
  call.asked_at = now - std::chrono::minutes(2);
  return call;
}

ToolCall answered() {
  ToolCall call = waiting();
  call.answer = model::CallDecision::allow;
  call.decided_by = "ana";
  call.answered_at = now - std::chrono::minutes(1);
  call.outcome = model::CallOutcome::ran;
  return call;
}

ToolCall denied() {
  ToolCall call = waiting();
  call.decision = model::CallDecision::deny;
  call.answer = model::CallDecision::deny;
  call.rule = "policies.tools.git_push";
  call.approval_id.reset();
  call.outcome = model::CallOutcome::denied;
  return call;
}

TEST(CallText, subject_is_what_would_run) {
  EXPECT_EQ(call_subject(arguments(R"({"command": "make test"})")), "make test");
  EXPECT_EQ(call_subject(arguments(R"({"argv": ["git", "commit", "-m", "a b"]})")), "git commit -m 'a b'");
  EXPECT_EQ(call_subject(arguments(R"({"path": "/w/src/a.c", "content": "x"})")), "/w/src/a.c");
  EXPECT_EQ(call_subject(arguments(R"({"n": 1})")), R"({"n":1})");
  EXPECT_EQ(call_subject(Value::object()), "");
}

TEST(CallText, decision_names_rule_or_person) {
  EXPECT_EQ(call_decision(waiting()), "ask AP-3: default");
  EXPECT_EQ(call_decision(answered()), "ask AP-3, allowed by ana");
  EXPECT_EQ(call_decision(denied()), "deny: policies.tools.git_push");
  ToolCall granted = answered();
  granted.grant_id = base::GrantId(3);
  granted.decision = model::CallDecision::allow;
  granted.rule = "GR-3";
  EXPECT_EQ(call_decision(granted), "allow: GR-3");
}

TEST(CallText, outcome_says_what_is_known) {
  EXPECT_EQ(call_outcome(waiting()), "waiting");
  EXPECT_EQ(call_outcome(denied()), "denied");
  EXPECT_EQ(call_outcome(answered()), "ran");
  ToolCall open = answered();
  open.outcome.reset();
  EXPECT_EQ(call_outcome(open), "allowed");
}

TEST(CallText, piped_lines_have_every_field) {
  EXPECT_EQ(calls_table({answered()}, {}, {}).for_pipe(),
            "TC-5\tTR-7\t2026-11-15T11:58:00.000Z\tshell_execute\tgit push origin main\task\tdefault\tallow\tana\tran\t"
            "/home/ana/shop\n");
}

// On a narrow terminal the command is shortened; the id, the decision and the outcome remain.
TEST(CallText, table_fits_a_narrow_terminal) {
  ToolCall call = answered();
  call.arguments = Value::object({{"command", Value::string(std::string(300, 'x'))}});
  const std::string text = calls_table({call}, {.columns = 80}, now).for_terminal({.columns = 80});
  EXPECT_THAT(text, AllOf(HasSubstr("TC-5"), HasSubstr("ran"), HasSubstr("xx")));
  for (const std::string_view line : base::split(text, '\n')) EXPECT_LE(base::display_width(line), 80) << line;
}

// LOG-3: nothing that would run is hidden: neither by an escape sequence nor by overwriting the line.
TEST(CallText, hostile_arguments_are_shown_exactly) {
  const Value hostile =
      Value::object({{"command", Value::string("ls\r\x1b]0;rm -rf /\a\x1b[2Ktrue\nrm \xE2\x80\xAEx")}});
  const std::string subject = call_subject(hostile);
  EXPECT_THAT(subject, AllOf(HasSubstr("ls"), HasSubstr("rm -rf /"), HasSubstr("true"), Not(HasSubstr("\x1b")),
                             Not(HasSubstr("\r")), Not(HasSubstr("\n")), Not(HasSubstr("\xE2\x80\xAE"))));
  const std::string all = base::join(argument_lines(hostile, {}, 100), "\n");
  EXPECT_THAT(all, AllOf(HasSubstr("rm -rf /"), Not(HasSubstr("\x1b")), Not(HasSubstr("\r")), Not(HasSubstr("\a")),
                         Not(HasSubstr("\xE2\x80\xAE"))));
  ToolCall call = waiting();
  call.arguments = hostile;
  call.tool = "a\x1b[1mb\nc";
  call.rule = "x\ry";
  for (const bool is_terminal : {true, false}) {
    const std::string text = call_details(call, {}, is_terminal ? std::optional(now) : std::nullopt);
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  }
}

TEST(CallText, edits_and_diffs_are_coloured) {
  const Style style{.color = true};
  const auto lines = argument_lines(
      arguments(R"({"path": "a.c", "old_string": "one", "new_string": "two", "diff": "@@ -1 +1 @@\n-one\n+two"})"),
      style, 100);
  const std::string text = base::join(lines, "\n");
  EXPECT_THAT(text, AllOf(HasSubstr(style.paint(Tint::red, "- one")), HasSubstr(style.paint(Tint::green, "+ two")),
                          HasSubstr(style.paint(Tint::cyan, "@@ -1 +1 @@"))));
}

TEST(CallText, long_arguments_say_how_much_is_left_out) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line\n";
  const auto lines = argument_lines(Value::object({{"content", Value::string(text)}}), {}, 3);
  EXPECT_THAT(lines, ElementsAre("content:", "  line", "  line", "  line", "  … 97 more lines"));
}

// TOOL-3: the question shows the call, not the command of the agent's run, which would be taken for it.
TEST(CallText, approval_of_a_call_shows_the_call) {
  model::Approval approval{.approval_id = base::ApprovalId(3),
                           .kind = model::ApprovalKind::tool_call,
                           .context = "folder: /home/ana/shop\nrule:   default\ngate:   asks",
                           .tool_run_id = base::RunId(7),
                           .arguments = arguments(R"({"command": "git push\ngit status"})"),
                           .question = "Run: git push \x1b]0;x\a …"};
  approval.options = model::default_options();
  model::Run run{.tool_run_id = base::RunId(7)};
  run.argv = {"claude", "-p", "fix it"};
  const std::string text = approval_details(approval, run, {}, now);
  EXPECT_THAT(text, AllOf(HasSubstr("git push\n"), HasSubstr("git status"), HasSubstr("gate:   asks"),
                          Not(HasSubstr("fix it")), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace reeve::view
