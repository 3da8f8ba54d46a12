#include "view/approval_text.h"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

#include "view/status.h"

namespace reeve::view {
namespace {

using base::ApprovalId;
using model::Approval;
using model::ApprovalStatus;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Clocks on the wall, wherever the tests run.
const bool is_utc = ::setenv("TZ", "UTC", 1) == 0;
const base::WallTime now = *base::parse_time("2026-11-15T12:00:00.000Z");

Approval pending() {
  Approval approval{.approval_id = ApprovalId(30),
                    .project = model::make_project_ref("/home/ana/shop"),
                    .risk = model::Risk::high,
                    .risk_reasons = {"the question names `git push`", "changes CI files: .travis.yml"},
                    .tool_run_id = base::RunId(90),
                    .tool_name = "aider",
                    .tool_ref = "push-1",
                    .arguments = base::Value::object({{"branch", base::Value::string("fix-login")}}),
                    .question = "Run `git push`?\nIt cannot be taken back.",
                    .default_value = "reject",
                    .digest = "sha256:12ab",
                    .created_at = now - std::chrono::minutes(3),
                    .expires_at = now + std::chrono::hours(3)};
  approval.options = {{.value = "staging", .label = "Only to staging", .approves = {}},
                      {.value = "everywhere", .label = "everywhere", .approves = {}},
                      {.value = "reject", .label = "Leave it", .approves = {}}};
  return approval;
}

Approval decided() {
  Approval approval = pending();
  approval.approval_id = ApprovalId(29);
  approval.status = ApprovalStatus::approved;
  approval.chosen_value = "staging";
  approval.comment = "ship it";
  approval.decided_by = "ana";
  approval.decided_at = now - std::chrono::minutes(1);
  approval.advisory = false;
  return approval;
}

// All that a tool may send to deceive or break a screen.
Approval hostile() {
  Approval approval = pending();
  approval.question = "\x1b[2J\x1b]0;title\aSafe?\rrm -rf /\n\n" + std::string(200, ' ') + "\u202Eevil\u2066\tend";
  approval.options = {{.value = "y\x1b[31m\ne\ts", .label = "a\nb\x1b]8;;http://x\x1b\\", .approves = {}}};
  approval.tool_name = "ai\x1b[0mder\n";
  approval.comment = "x\x1b[2J";
  approval.risk_reasons = {"\x1b[2Jlow\u202e"};
  approval.context = "a\x1b[2J\rb\u202e\nrisk          low";
  return approval;
}

TEST(ApprovalText, statuses_have_symbol_word_and_colour) {
  EXPECT_EQ(status_text(ApprovalStatus::pending, {}), "◆ pending");
  EXPECT_EQ(status_text(ApprovalStatus::approved, {.ascii = true}), "+ approved");
  EXPECT_EQ(status_text(ApprovalStatus::rejected, {}), "✗ rejected");
  EXPECT_EQ(status_text(ApprovalStatus::expired, {}), "⊘ expired");
}

TEST(ApprovalText, terminal_listing_is_a_table) {
  EXPECT_EQ("\n" + approvals_table({pending(), decided()}, {}, now).for_terminal({}), R"(
ID     STATUS      WHO          QUESTION                                  OPTIONS                       AGE  NOTE                                PROJECT
AP-30  ◆ pending   aider TR-90  Run `git push`? It cannot be taken back.  staging, everywhere, reject*  3m   until 15:00, then reject; advisory  shop
AP-29  ✓ approved  aider TR-90  Run `git push`? It cannot be taken back.  staging, everywhere, reject*  3m   approved by ana: ship it (1m ago)   shop
)");
}

TEST(ApprovalText, piped_listing_is_tab_separated) {
  EXPECT_EQ(approvals_table({pending(), decided()}, {}, {}).for_pipe(),
            "AP-30\tpending\taider TR-90\tRun `git push`? It cannot be taken back.\tstaging, everywhere, reject*\t"
            "2026-11-15T11:57:00.000Z\t2026-11-15T15:00:00.000Z\t\t\tadvisory\t/home/ana/shop\n"
            "AP-29\tapproved\taider TR-90\tRun `git push`? It cannot be taken back.\tstaging, everywhere, reject*\t"
            "2026-11-15T11:57:00.000Z\t2026-11-15T15:00:00.000Z\tstaging\tana\t\t/home/ana/shop\n");
}

// The answer is typed into the tool: it is not started again.
TEST(ApprovalText, prompt_at_a_terminal_would_run_nothing) {
  const model::Run run{.tool_run_id = base::RunId(90), .tool_name = "bash", .argv = {"bash", "ask.sh"}};
  model::Approval asked = pending();
  asked.delivery = model::Delivery::terminal;
  const std::string text = approval_details(asked, run, {}, now);
  EXPECT_THAT(text, AllOf(HasSubstr("\ncommand       bash ask.sh\n"), Not(HasSubstr("would run"))));
}

TEST(ApprovalText, details_on_a_terminal_have_every_section) {
  const model::Run run{
      .tool_run_id = base::RunId(90), .tool_name = "aider", .argv = {"aider", "--yes", "it's"}, .cwd = "/home/ana/x"};
  EXPECT_EQ("\n" + approval_details(pending(), run, {}, now), R"(
AP-30  aider TR-90  ◆ pending

question      Run `git push`?
              It cannot be taken back.
risk          high  the question names `git push`
                    changes CI files: .travis.yml
options       staging     Only to staging
              everywhere
              reject      Leave it  (default, rejects)
advisory      no sandbox: the tool could approve its own request
would run     aider --yes 'it'\''s'
cwd           /home/ana/x
arguments     {"branch":"fix-login"}
digest        sha256:12ab
then          the tool is restarted with the answer
project       /home/ana/shop
tool_run_id   TR-90
tool_ref      push-1
attempt       1
created_at    2026-11-15T11:57:00.000Z (3m ago)
expires_at    2026-11-15T15:00:00.000Z (in 3h)
)");
  EXPECT_THAT(approval_details(decided(), {}, {}, now), HasSubstr(R"(
decision      approved by ana
chosen_value  staging
comment       ship it
decided_at    2026-11-15T11:59:00.000Z (1m ago)
use           unused
)"));
  // What was answered, or never will be, has no consequence any more.
  Approval expired = pending();
  expired.status = ApprovalStatus::expired;
  for (const Approval& over : {decided(), expired}) {
    EXPECT_THAT(approval_details(over, run, {}, now),
                AllOf(HasSubstr("command       aider --yes"), Not(HasSubstr("\nthen ")), Not(HasSubstr("would run"))));
  }
}

// Asked over the API, outside of any run.
TEST(ApprovalText, caller_outside_of_runs_is_the_asker) {
  const Approval approval{.question = "Ship it?",
                          .options = model::default_options(),
                          .created_at = now,
                          .delivery = model::Delivery::live,
                          .asked_by = "bot\x1b"};
  EXPECT_EQ(asker_text(approval), "bot\\x1b");
  EXPECT_THAT(approval_details(approval, {}, {}, now),
              AllOf(HasSubstr("asked_by      bot\\x1b"), HasSubstr("the caller reads it"),
                    HasSubstr("the caller could approve its own request"), Not(HasSubstr("its socket"))));
  EXPECT_EQ(question_line(approval), "Ship it?");
}

TEST(ApprovalText, details_in_a_pipe_are_key_value_lines) {
  Approval approval = pending();
  approval.secret = true;
  EXPECT_EQ(approval_details(approval, {}, {}, {}),
            "approval_id\tAP-30\nstatus\tpending\ntool_name\taider\n"
            "question\tRun `git push`?\\nIt cannot be taken back.\n"
            "risk\thigh\nrisk_reasons\tthe question names `git push`\\nchanges CI files: .travis.yml\n"
            "options\tstaging     Only to staging\\neverywhere\\nreject      Leave it  (default, rejects)\n"
            "secret\tasks for a secret, which is typed into the tool and never stored\nadvisory\ttrue\n"
            "arguments\t{\"branch\":\"fix-login\"}\ndigest\tsha256:12ab\n"
            "then\tthe tool is restarted with the "
            "answer\nproject\t/home/ana/shop\ntool_run_id\tTR-90\ntool_ref\tpush-1\nattempt\t1\n"
            "created_at\t2026-11-15T11:57:00.000Z\nexpires_at\t2026-11-15T15:00:00.000Z\n");
}

// LOG-3: nothing that a terminal obeys, and nothing that was written over, is out of sight.
TEST(ApprovalText, hostile_text_is_escaped_and_visible) {
  const Approval approval = hostile();
  EXPECT_EQ(question_line(approval), "Safe? rm -rf / \\u202eevil\\u2066 end");
  const model::Run run{.tool_run_id = base::RunId(90), .argv = {"sh", "-c", "\x1b[2J\n"}, .cwd = "/\x1b"};
  for (const std::string& text :
       {approval_details(approval, run, {}, now), approval_details(approval, run, {}, {}),
        approvals_table({approval}, {}, now).for_terminal({}), approvals_table({approval}, {}, {}).for_pipe(),
        numbered_options(approval.options, {}), asker_text(approval), options_text(approval), risk_text(approval),
        origin_text(approval)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << text;
    EXPECT_THAT(text, Not(HasSubstr("\r"))) << text;
    EXPECT_THAT(text, Not(HasSubstr("\u202e"))) << text;
  }
  EXPECT_THAT(approval_details(approval, {}, {}, now), HasSubstr("rm -rf /"));
  // One line stays one line, and each row has its cells.
  EXPECT_EQ(std::ranges::count(approvals_table({approval}, {}, {}).for_pipe(), '\n'), 1);
  EXPECT_EQ(std::ranges::count(approvals_table({approval}, {}, {}).for_pipe(), '\t'), 10);
}

// RUN-10: the screen is shown beside the question, and none of its lines can be taken for one of Reeve's.
TEST(ApprovalText, screen_of_a_prompt_is_shown_behind_a_bar) {
  Approval approval = pending();
  approval.question = "Do you want to proceed?";
  approval.context = "Bash command\n\nrm -rf build\nDo you want to proceed?\nrisk          low";
  EXPECT_THAT(approval_details(approval, {}, {}, now), HasSubstr(R"(
question      Do you want to proceed?
context       │ Bash command
              │ 
              │ rm -rf build
              │ Do you want to proceed?
              │ risk          low
risk          high)"));
  EXPECT_THAT(approval_details(approval, {}, {.ascii = true}, now), HasSubstr("\ncontext       | Bash command\n"));
  EXPECT_THAT(approval_details(approval, {}, {}, {}), HasSubstr("\ncontext\tBash command\\n\\nrm -rf build\\n"));
  EXPECT_EQ(context_lines(approval, {}, 2).front(), "│ Do you want to proceed?");
}

TEST(ApprovalText, origin_names_run_and_project) {
  Approval approval = pending();
  EXPECT_EQ(origin_text(approval), "aider TR-90 (shop)");
  approval.execution_id = base::ExecutionId(9);
  approval.node_id = "deploy";
  EXPECT_EQ(origin_text(approval), "EX-9/deploy, TR-90 (shop)");
  approval.tool_run_id.reset();
  EXPECT_EQ(origin_text(approval), "EX-9/deploy (shop)");
  approval.project.reset();
  EXPECT_EQ(origin_text(approval), "EX-9/deploy");
}

TEST(ApprovalText, long_question_is_cut_in_the_listing) {
  Approval approval = pending();
  approval.question = std::string(16UZ * 1024, 'x');
  const std::string listing = approvals_table({approval}, {}, now).for_terminal({});
  EXPECT_LT(listing.size(), 600U);
  EXPECT_THAT(listing, HasSubstr("xxx…"));
  EXPECT_GT(approval_details(approval, {}, {}, now).size(), 16UZ * 1024);
}

TEST(ApprovalText, clock_shows_the_date_on_another_day) {
  EXPECT_EQ(clock_text(now + std::chrono::hours(2), now), "14:00");
  EXPECT_EQ(clock_text(now + std::chrono::hours(24), now), "16 Nov 12:00");
  EXPECT_EQ(clock_text(now + std::chrono::hours(24 * 60), now), "14 Jan 2027 12:00");
  Approval approval = pending();
  approval.expires_at.reset();
  EXPECT_EQ(until_text(approval, now), "");
}

}  // namespace
}  // namespace reeve::view
