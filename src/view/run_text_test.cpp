#include "view/run_text.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/text.h"
#include "view/status.h"

namespace reeve::view {
namespace {

using base::RunId;
using model::Run;
using model::RunStatus;

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
       .project = model::make_project_ref("/home/ana/shop"),
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

// UX: every status has a sign, a word and a colour.
TEST(RunText, statuses_have_symbol_word_and_colour) {
  EXPECT_EQ(status_text(RunStatus::running, {}), "● running");
  EXPECT_EQ(status_text(RunStatus::waiting_approval, {.ascii = true}), "? waiting_approval");
  EXPECT_EQ(status_text(RunStatus::failed, {.color = true}), "\x1b[31m✗ failed\x1b[0m");
}

TEST(RunText, durations_are_abbreviated) {
  using namespace std::chrono_literals;
  EXPECT_EQ(age_text(59s), "59s");
  EXPECT_EQ(age_text(12min), "12m");
  EXPECT_EQ(age_text(47h), "47h");
  EXPECT_EQ(age_text(72h), "3d");
  EXPECT_EQ(age_text(-5s), "0s") << "clocks of two machines differ";
  EXPECT_EQ(span_text(372s), "6m12s");
  EXPECT_EQ(span_text(90min), "1h30m");
  EXPECT_EQ(span_text(999ms), "999ms");
}

TEST(RunText, terminal_listing_is_a_table) {
  EXPECT_EQ("\n" + runs_table(by_attention(some_runs()), {}, now).for_terminal({}), R"(
ID     STATUS              TOOL    AGE  TOOK    COMMAND                           NOTE                                    PROJECT
TR-90  ◆ waiting_approval  aider   20m  20m00s  aider --message 'it'\''s broken'  waiting for an approval                 shop
TR-88  ▲ stalled           codex   30m  30m00s  codex exec                        no output for 6m12s
TR-91  ● running           pytest  42s  42s     pytest -q                         45 % collecting
TR-85  ✗ failed            lint    1h   1m00s   make lint                         exit 2: 3 errors in src/net.cpp\x1b[2J
TR-84  ◔ failed_timeout    slow    2h   30m00s  slow                              timeout
)");
}

TEST(RunText, piped_listing_is_tab_separated) {
  EXPECT_EQ(runs_table({some_runs()[3]}, {}, {}).for_pipe(),
            "TR-85\tfailed\tlint\t2026-11-15T10:59:00.000Z\t60000\tmake lint\t"
            "exit 2: 3 errors in src/net.cpp\\x1b[2J\t\n");
}

TEST(RunText, details_show_every_field) {
  EXPECT_EQ(
      run_details(some_runs()[1], {}, {}, {}),
      "tool_run_id\tTR-90\ntool_name\taider\nstatus\twaiting_approval\nattempt\t1\n"
      "command\taider --message 'it'\\''s broken'\nproject\t/home/ana/shop\nstarted_at\t2026-11-15T11:40:00.000Z\n"
      "last_output_at\t2026-11-15T11:57:00.000Z\n");
  EXPECT_EQ("\n" + run_details(some_runs()[3], {}, {}, now), R"(
TR-85  lint  ✗ failed

reason             exit_code != 0
exit_code          2
attempt            1
command            make lint
started_at         2026-11-15T10:59:00.000Z (1h ago)
completed_at       2026-11-15T11:00:00.000Z (1h ago)
took               1m00s
last_error         3 errors in src/net.cpp\x1b[2J
)");
}

}  // namespace
}  // namespace reeve::view
