#include "view/grant_text.h"

#include <gmock/gmock.h>

namespace reeve::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const base::WallTime now = *base::parse_time("2026-11-15T12:00:00.000Z");

model::Grant standing() {
  model::Grant grant;
  grant.grant_id = base::GrantId(3);
  grant.tool_run_id = base::RunId(7);
  grant.agent = "claude";
  grant.tool = "shell_execute";
  grant.match = model::GrantMatch::program;
  grant.program = {"/usr/bin/git", "status"};
  grant.describes = "git status in any folder of the worktree";
  grant.approval_id = base::ApprovalId(9);
  grant.created_by = "ana";
  grant.created_at = now - std::chrono::hours(1);
  grant.expires_at = now + std::chrono::hours(7);
  grant.uses = 4;
  return grant;
}

// TOOL-8: a grant is in force until it expires or is revoked, whichever comes first.
TEST(GrantText, status_follows_time_and_revocation) {
  model::Grant grant = standing();
  EXPECT_EQ(grant_status(grant, now), "active");
  EXPECT_EQ(grant_status(grant, grant.expires_at), "expired");
  grant.revoked_at = now;
  EXPECT_EQ(grant_status(grant, now), "revoked");
}

TEST(GrantText, piped_lines_have_every_field) {
  EXPECT_EQ(grants_table({standing()}, {}, now, TimeForm::for_pipe).for_pipe(),
            "GR-3\tactive\tTR-7\tclaude\tshell_execute\tprogram\tgit status in any folder of the worktree\t4\t"
            "2026-11-15T19:00:00.000Z\tana\t\n");
}

TEST(GrantText, table_and_details_are_safe_to_print) {
  model::Grant grant = standing();
  grant.describes = "a\x1b[2Jb\nc";
  grant.created_by = "x\ry";
  const std::string table = grants_table({grant}, {}, now, TimeForm::for_terminal).for_terminal({});
  const std::string details = grant_details(grant, {}, now, TimeForm::for_terminal);
  for (const std::string& text : {table, details}) {
    EXPECT_THAT(text, AllOf(HasSubstr("GR-3"), HasSubstr("7h"), Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  }
  EXPECT_THAT(details, HasSubstr("/usr/bin/git status"));
}

}  // namespace
}  // namespace reeve::view
