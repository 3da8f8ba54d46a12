#include "view/overview_text.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "view/run_text.h"

namespace reeve::view {
namespace {

using base::RunId;
using model::Run;
using model::RunStatus;
using ::testing::HasSubstr;

// Clocks on the wall, wherever the tests run.
const bool is_utc = ::setenv("TZ", "UTC", 1) == 0;
const base::WallTime now = *base::parse_time("2026-11-15T12:00:00.000Z");

base::WallTime ago(base::Milliseconds time) { return now - time; }

std::vector<Run> some_runs() {
  using std::chrono::minutes;
  using std::chrono::seconds;
  return {
      {.tool_run_id = RunId(91),
       .tool_name = "pytest",
       .status = RunStatus::running,
       .argv = {"pytest", "-q"},
       .started_at = ago(seconds(42)),
       .progress = model::Progress{.percent = 45, .message = "collecting"}},
      {.tool_run_id = RunId(90),
       .tool_name = "aider",
       .status = RunStatus::waiting_approval,
       .argv = {"aider", "--message", "it's broken"},
       .started_at = ago(minutes(20)),
       .last_output_at = ago(minutes(3))},
      {.tool_run_id = RunId(88),
       .tool_name = "codex",
       .status = RunStatus::stalled,
       .argv = {"codex", "exec"},
       .started_at = ago(minutes(30)),
       .last_output_at = ago(seconds(372))},
      {.tool_run_id = RunId(85),
       .tool_name = "lint",
       .status = RunStatus::failed,
       .reason = "exit_code != 0",
       .exit_code = 2,
       .argv = {"make", "lint"},
       .started_at = ago(minutes(61)),
       .completed_at = ago(minutes(60)),
       .duration_ms = 60'000,
       .last_error = "3 errors in src/net.cpp\x1b[2J"},
      {.tool_run_id = RunId(84),
       .tool_name = "slow",
       .status = RunStatus::failed_timeout,
       .reason = "timeout",
       .argv = {"slow"},
       .started_at = ago(minutes(150)),
       .completed_at = ago(minutes(120))},
  };
}

std::vector<model::Approval> some_questions() {
  using std::chrono::minutes;
  model::Approval human{.approval_id = base::ApprovalId(31),
                        .execution_id = base::ExecutionId(9),
                        .node_id = "deploy",
                        .question = "Apply these 17 file changes to main?",
                        .options = model::default_options(),
                        .created_at = ago(minutes(12)),
                        .expires_at = now + minutes(171)};
  model::Approval tool{.approval_id = base::ApprovalId(32),
                       .tool_run_id = RunId(90),
                       .tool_name = "aider",
                       .question = "Run `git push origin fix-login`?",
                       .options = model::default_options(),
                       .created_at = ago(minutes(3)),
                       .expires_at = now + minutes(180)};
  return {human, tool};
}

// UX: what waits for a person, what stalled, what failed; a run that waits stands in the line of its question.
TEST(OverviewText, overview_lists_what_needs_a_person_first) {
  const Overview overview = make_overview({{some_questions(), some_runs()}}, {}, now);
  EXPECT_EQ("\n" + overview.text, R"(
◆ 2 waiting for you   ▲ 1 stalled   ✗ 2 failed   ● 1 running

  AP-31  EX-9/deploy  Apply these 17 file changes to main?     12m   until 14:51, then reject
  AP-32  aider TR-90  Run `git push origin fix-login`?          3m   until 15:00, then reject
  TR-88  codex        no output for 6m12s                       6m   reeve attach TR-88
  TR-85  lint         exit 2: 3 errors in src/net.cpp\x1b[2J    1h   reeve logs TR-85
  TR-84  slow         timeout                                   2h   reeve logs TR-84
)");
  EXPECT_EQ(overview.next, "reeve show AP-31");
  EXPECT_EQ(make_overview({}, {}, now).text, "nothing is running and nothing is waiting for you\n");
  EXPECT_EQ(make_overview({{.runs = {some_runs()[0]}}}, {.ascii = true}, now).text, "> 1 running\n");
}

TEST(OverviewText, counts_match_the_first_line) {
  const NewsCounts counts = count_news({{some_questions(), some_runs()}});
  EXPECT_EQ(counts.waiting_approval, 2U);
  EXPECT_EQ(counts.stalled, 1U);
  EXPECT_EQ(counts.failed, 2U);
  EXPECT_EQ(counts.running, 1U);
  EXPECT_EQ(counts.queued, 0U);
  EXPECT_EQ(counts.not_applied, 0U);
}

// UX: on 80 columns nothing wraps; the id and what can be done stay.
TEST(OverviewText, the_overview_fits_the_terminal) {
  for (const std::size_t columns : {100UZ, 80UZ, 60UZ}) {
    const std::string text = make_overview({{some_questions(), some_runs()}}, {.columns = columns}, now).text;
    for (const std::string_view line : base::split(text, '\n')) {
      EXPECT_LE(base::display_width(line), columns) << line;
    }
    for (const char* part : {"AP-31", "until 14:51", "TR-88", "Apply these"}) {
      EXPECT_TRUE(text.find(part) != std::string::npos) << part << " at " << columns << "\n" << text;
    }
    const bool has_room = columns >= 80;
    EXPECT_EQ(text.find("reeve attach TR-88") != std::string::npos, has_room) << text;
  }
}

TEST(OverviewText, waiting_run_without_a_listed_question_is_shown) {
  const Overview overview = make_overview({{.runs = {some_runs()[1]}}}, {}, now);
  EXPECT_EQ("\n" + overview.text, R"(
◆ 1 waiting for you

  TR-90  aider  waiting for an approval    3m   reeve show TR-90
)");
  EXPECT_EQ(overview.next, "reeve show TR-90");
}

// Nothing happens in it until somebody resumes it: it must not look like work in progress.
TEST(OverviewText, paused_runs_and_executions_are_shown) {
  model::Run run = some_runs()[0];
  run.paused_at = ago(std::chrono::hours(3));
  model::Execution execution;
  execution.execution_id = base::ExecutionId(8);
  execution.workflow_name = "Release";
  execution.status = model::ExecutionStatus::running;
  execution.paused_at = ago(std::chrono::hours(3));
  model::Run held = some_runs()[0];
  held.tool_run_id = RunId(95);
  held.execution_id = execution.execution_id;
  held.paused_at = execution.paused_at;
  const Overview overview = make_overview({{.runs = {run, held}, .executions = {execution}}}, {}, now);
  EXPECT_TRUE(overview.text.starts_with("‖ 2 paused\n")) << overview.text;
  EXPECT_THAT(overview.text, HasSubstr("  EX-8   Release  paused    3h   reeve resume EX-8\n"));
  EXPECT_THAT(overview.text, HasSubstr("  TR-91  pytest   paused    3h   reeve resume TR-91\n"));
  EXPECT_EQ(overview.text.find("TR-95"), std::string::npos) << "it continues with its execution";
  EXPECT_EQ(overview.next, "reeve resume EX-8");
  const News alone{.runs = {run}};
  EXPECT_EQ(count_news({alone}).running, 0U);
  EXPECT_EQ(count_news({alone}).paused, 1U);
}

// ISO-3.
// RUN-18
TEST(OverviewText, run_with_a_usage_limit_says_when_it_continues) {
  const model::Run limited{.tool_run_id = RunId(92),
                           .tool_name = "claude",
                           .status = RunStatus::queued,
                           .reason = "usage limit of claude: continues at 2026-11-15 17:11 UTC (5-hour window)",
                           .outcome = model::Outcome::limited,
                           .not_before = now + std::chrono::minutes(311)};
  const Overview overview = make_overview({{.runs = {limited}}}, {}, now);
  EXPECT_THAT(overview.text, HasSubstr("1 queued"));
  EXPECT_THAT(overview.text, HasSubstr("TR-92  claude  usage limit, continues at 17:11 (in 5h)"));
  EXPECT_EQ(overview.next, "") << "nobody has to act";
  EXPECT_THAT(overview_table({{.runs = {limited}}}, {}).for_pipe(), HasSubstr("continues at 2026-11-15 17:11 UTC"));
  EXPECT_EQ(run_note(limited, *limited.not_before), "usage limit, continues now");
  EXPECT_THAT(run_details(limited, {}, {}, {}), HasSubstr("not_before\t2026-11-15T17:11:00.000Z\n"));
  EXPECT_THAT(run_details(limited, {}, {}, now), HasSubstr("at 17:11 (in 5h)\n"));
}

TEST(OverviewText, unapplied_patch_is_shown_in_the_overview) {
  model::Patch patch;
  patch.patch_id = base::PatchId(8);
  patch.execution_id = base::ExecutionId(14);
  patch.node_id = "fix\x1b";
  patch.state = model::PatchState::conflicted;
  patch.history = {{.state = model::PatchState::conflicted, .at = now, .reason = "you changed the same: a.txt"}};
  const Overview overview = make_overview({{.patches = {patch}}}, {}, now);
  EXPECT_TRUE(overview.text.find("1 patch not applied\n") != std::string::npos) << overview.text;
  EXPECT_TRUE(overview.text.find("conflicted: you changed the same: a.txt") != std::string::npos) << overview.text;
  EXPECT_EQ(overview.text.find('\x1b'), std::string::npos);
  EXPECT_EQ(overview.next, "reeve patch show PA-8");
  EXPECT_TRUE(overview_table({{.patches = {patch}}}, {}).for_pipe().starts_with("PA-8\tconflicted\tEX-14/fix"));
}

TEST(OverviewText, long_queue_is_truncated_with_a_count) {
  const std::vector<model::Approval> many(50, some_questions()[0]);
  const Overview overview = make_overview({{.approvals = many}}, {}, now);
  EXPECT_TRUE(overview.text.starts_with("◆ 50 waiting for you\n"));
  EXPECT_TRUE(overview.text.ends_with("  and 30 more waiting for you: reeve approvals\n")) << overview.text;
}

TEST(OverviewText, piped_overview_is_tab_separated) {
  EXPECT_EQ(overview_table({{{some_questions()[1]}, {some_runs()[0], some_runs()[1]}}}, {}).for_pipe(),
            "AP-32\tpending\taider TR-90\t2026-11-15T11:57:00.000Z\t\t\tRun `git push origin fix-login`?\t\n"
            "TR-91\trunning\tpytest\t2026-11-15T11:59:18.000Z\t\tpytest -q\t45 % collecting\t\n");
}

TEST(OverviewText, each_line_names_its_project) {
  News news{some_questions(), some_runs()};
  news.approvals[0].project = model::make_project_ref("/home/me/shop");
  news.approvals[1].project = model::make_project_ref("/home/me/site");
  const std::string text = make_overview({news}, {}, now).text;
  EXPECT_THAT(text, HasSubstr("  AP-31  shop  EX-9/deploy  Apply these 17"));
  EXPECT_THAT(text, HasSubstr("  AP-32  site  aider TR-90  Run `git push"));
}

TEST(OverviewText, ids_of_another_state_folder_have_its_name) {
  const News own{.runs = {some_runs()[0]}};
  const News other{.approvals = {some_questions()[1]}, .runs = {some_runs()[2]}, .prefix = "shop"};
  const Overview overview = make_overview({own, other}, {}, now);
  EXPECT_THAT(overview.text, HasSubstr("1 waiting for you   ▲ 1 stalled   ● 1 running"));
  EXPECT_THAT(overview.text, HasSubstr("  shop/AP-32  aider TR-90"));
  EXPECT_THAT(overview.text, HasSubstr("reeve attach shop/TR-88"));
  EXPECT_EQ(overview.next, "reeve show shop/AP-32");
  EXPECT_THAT(overview_table({own, other}, {}).for_pipe(), HasSubstr("\nshop/AP-32\tpending"));
}

}  // namespace
}  // namespace reeve::view
