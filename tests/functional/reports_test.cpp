#include "tests/support/reports.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// The guard restarts a broken daemon, and the run of a broken keeper continues: without a check for reports the test
// would pass.
namespace reeve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(Reports, sanitizer_reports_are_returned_once) {
  std::ofstream(testing::reports_folder() / "reeve.17") << "WARNING: a data race";
  EXPECT_THAT(testing::take_reports(), ElementsAre(HasSubstr("reeve.17:\nWARNING: a data race")));
  EXPECT_THAT(testing::take_reports(), IsEmpty());
}

TEST(Reports, core_files_and_failed_assertions_are_found) {
  const testing::ScratchFolder scratch;
  scratch.write("project/.reeve/state/logs/daemon.log", "started\nreeve: bug: a == b does not hold\n");
  scratch.write("project/core.17", "");
  scratch.write("project/score", "reeve: bug: of somebody else");
  EXPECT_THAT(testing::find_breaks(scratch.path()),
              UnorderedElementsAre(HasSubstr("bug: a == b"), HasSubstr("core.17")));
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
class ProgramReports : public testing::DaemonTest {};

TEST_F(ProgramReports, client_daemon_and_keeper_reports_are_found) {
  std::ofstream(testing::reports_folder() / "race") << "";
  ASSERT_EQ(run({}, {"lines", "1"}).code, 0);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return processes().empty(); }));
  const std::vector<std::string> reports = testing::take_reports();
  // Each client, the daemon, its guard and the keepers leave one.
  EXPECT_THAT(reports, ::testing::Contains(StartsWith("reeve-keeper.")).Times(::testing::Ge(2)));
  EXPECT_THAT(reports, ::testing::Contains(StartsWith("reeve.")).Times(::testing::Ge(3)));
  EXPECT_THAT(reports, ::testing::Each(HasSubstr("data race")));
}
#endif
#endif

}  // namespace
}  // namespace reeve
