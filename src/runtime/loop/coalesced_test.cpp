#include "runtime/loop/coalesced.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

TEST(Coalesced, request_without_others_runs_once) {
  Coalesced request;
  EXPECT_FALSE(request.is_running());
  EXPECT_TRUE(request.begin());
  EXPECT_TRUE(request.is_running());
  EXPECT_FALSE(request.end());
  EXPECT_FALSE(request.is_running());
}

TEST(Coalesced, requests_made_while_one_runs_become_one_more) {
  Coalesced request;
  EXPECT_TRUE(request.begin());
  EXPECT_FALSE(request.begin());
  EXPECT_FALSE(request.begin());
  EXPECT_TRUE(request.end());
  EXPECT_TRUE(request.begin());
  EXPECT_FALSE(request.end()) << "the earlier requests are covered by this one";
}

TEST(Coalesced, request_made_while_the_second_runs_is_not_lost) {
  Coalesced request;
  EXPECT_TRUE(request.begin());
  EXPECT_FALSE(request.begin());
  EXPECT_TRUE(request.end());
  EXPECT_TRUE(request.begin());
  EXPECT_FALSE(request.begin());
  EXPECT_TRUE(request.end());
}

TEST(CoalescedDeathTest, end_without_begin_aborts) {
  Coalesced request;
  EXPECT_DEATH(request.end(), "is_running_");
}

}  // namespace
}  // namespace reeve::runtime
