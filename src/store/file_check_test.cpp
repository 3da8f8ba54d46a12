#include "store/file_check.h"

#include <gtest/gtest.h>

namespace reeve::store {
namespace {

TEST(FileCheck, sqlite_versions_with_the_wal_reset_bug_are_recognised) {
  for (const int version : {3'007'000, 3'040'001, 3'044'005, 3'045'000, 3'050'006, 3'051'000, 3'051'002}) {
    EXPECT_TRUE(has_wal_reset_bug(version)) << version;
  }
  for (const int version : {3'006'023, 3'044'006, 3'050'007, 3'051'003, 3'053'000}) {
    EXPECT_FALSE(has_wal_reset_bug(version)) << version;
  }
}

TEST(FileCheck, unreadable_file_is_reported) {
  EXPECT_EQ(check_file("/proc/no/reeve.db", std::chrono::seconds(1)).health, FileHealth::unreadable);
}

}  // namespace
}  // namespace reeve::store
