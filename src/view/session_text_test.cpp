#include "view/session_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::view {
namespace {

using ::testing::HasSubstr;

// AGT-4
TEST(SessionText, totals_are_short_on_a_terminal_and_exact_in_a_pipe) {
  const base::WallTime seen = base::parse_time("2026-02-03T04:05:06.789Z").value();
  const std::vector<model::AgentSession> sessions = {{.session_id = "s-1",
                                                      .tool_run_id = base::RunId(7),
                                                      .agent = "claude",
                                                      .version = "2.1.0",
                                                      .model = "opus",
                                                      .last_seen_at = seen,
                                                      .input_tokens = 1'234'567,
                                                      .output_tokens = 950,
                                                      .cost_usd = 0.125}};
  EXPECT_EQ(sessions_table(sessions, {}, {}).for_pipe(),
            "s-1\tTR-7\tclaude\t2.1.0\topus\t1234567\t950\t0.125\t2026-02-03T04:05:06.789Z\n");
  const std::string shown =
      sessions_table(sessions, {}, seen + std::chrono::minutes(5)).for_terminal(Style{.columns = 200});
  EXPECT_THAT(shown, HasSubstr("1.2M"));
  EXPECT_THAT(shown, HasSubstr("950"));
  EXPECT_THAT(shown, HasSubstr("$0.1"));
}

TEST(SessionText, tokens_are_rounded_to_one_digit) {
  EXPECT_EQ(tokens_text(0), "0");
  EXPECT_EQ(tokens_text(999), "999");
  EXPECT_EQ(tokens_text(1'000), "1.0k");
  EXPECT_EQ(tokens_text(999'949), "999.9k");
  EXPECT_EQ(tokens_text(999'950), "1.0M");
}

}  // namespace
}  // namespace reeve::view
