#include "base/id.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

TEST(Id, text_is_a_prefix_and_a_number) {
  EXPECT_EQ(RunId(17).text(), "TR-17");
  EXPECT_EQ(ApprovalId(4).text(), "AP-4");
  EXPECT_EQ(ExecutionId(9).text(), "EX-9");
  EXPECT_EQ(AgentId(2).text(), "AG-2");
  EXPECT_EQ(TaskId(5).text(), "TK-5");
  EXPECT_EQ(PatchId(1).text(), "PA-1");
}

TEST(Id, is_accepted_in_any_case) {
  EXPECT_EQ(RunId::parse("tr-17"), RunId(17));
  EXPECT_EQ(RunId::parse("Tr-17"), RunId(17));
}

TEST(Id, rejects_invalid_ids) {
  for (const char* text : {"", "TR", "TR-", "TR17", "TR-0", "TR-01", "TR--1", "TR-+1", "TR-1x", "TR-1 ", " TR-1",
                           "AP-17", "TR-99999999999999999999", "TR-1'; DROP TABLE tool_runs"}) {
    EXPECT_FALSE(RunId::parse(text)) << text;
  }
}

RC_GTEST_PROP(Id, round_trips_any_number, ()) {
  const auto number = *rc::gen::positive<std::int64_t>();
  RC_ASSERT(TaskId::parse(TaskId(number).text()) == TaskId(number));
}

}  // namespace
}  // namespace reeve::base
