#include "cli/shown_id.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

Call call_with(const std::string& prefix) {
  Call call;
  call.prefix = prefix;
  return call;
}

TEST(ShownId, hints_name_records_as_they_are_typed) {
  const Call call = call_with("lib");
  EXPECT_EQ(shown_id(call, "AP-1"), "lib/AP-1");
  EXPECT_EQ(with_prefix(call, "reeve approve AP-1 --confirm=AP-1"), "reeve approve lib/AP-1 --confirm=lib/AP-1");
  EXPECT_EQ(with_prefix(call, "reeve/EX-1 and lib/AP-1"), "reeve/EX-1 and lib/AP-1");
  EXPECT_EQ(with_prefix(call_with(""), "reeve approve AP-1"), "reeve approve AP-1");
}

// What a tool said is not changed, even if it looks like an id.
TEST(ShownId, records_in_full_name_other_records_as_they_are_typed) {
  const Call call = call_with("lib");
  EXPECT_EQ(with_prefixed_fields(call, "approval_id\tAP-1\nquestion\tCancel TR-9?\ntool_run_id\tTR-2\n"),
            "approval_id\tlib/AP-1\nquestion\tCancel TR-9?\ntool_run_id\tlib/TR-2\n");
  EXPECT_EQ(with_prefixed_fields(call, "\x1b[1mTR-2\x1b[0m  sh  running\n\nasks   AP-1 TR-9?\n"),
            "\x1b[1mlib/TR-2\x1b[0m  sh  running\n\nasks   lib/AP-1 TR-9?\n");
  EXPECT_EQ(with_prefixed_fields(call_with(""), "tool_run_id\tTR-2\n"), "tool_run_id\tTR-2\n");
}

}  // namespace
}  // namespace reeve::cli
