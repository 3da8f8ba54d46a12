#include "runtime/runs/resumption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/encode.h"

namespace reeve::runtime {
namespace {

using model::ApprovalStatus;
using ::testing::HasSubstr;
using ::testing::Not;

model::Approval make(std::int64_t number, ApprovalStatus status, std::optional<std::string> ref = {}) {
  model::Approval approval;
  approval.approval_id = base::ApprovalId(number);
  approval.status = status;
  approval.tool_ref = std::move(ref);
  if (status == ApprovalStatus::approved) approval.chosen_value = "staging";
  return approval;
}

// RUN-8: all decisions of the run, keyed by the tool's own name for the question, otherwise by id.
TEST(Decisions, are_keyed_by_the_tools_own_question_name) {
  EXPECT_EQ(
      json::encode(describe_decisions({make(4, ApprovalStatus::approved, "deploy-1"), make(3, ApprovalStatus::rejected),
                                       make(2, ApprovalStatus::expired, "old")})),
      R"({"deploy-1":{"approval_id":"AP-4","status":"approved","chosen_value":"staging","comment":null},)"
      R"("AP-3":{"approval_id":"AP-3","status":"rejected","chosen_value":null,"comment":null},)"
      R"("old":{"approval_id":"AP-2","status":"expired","chosen_value":null,"comment":null}})");
  EXPECT_EQ(json::encode(describe_decisions({})), "{}");
}

TEST(Decisions, omit_pending_and_superseded_ones) {
  const std::string text = json::encode(
      describe_decisions({make(9, ApprovalStatus::pending, "open"), make(8, ApprovalStatus::rejected, "same"),
                          make(7, ApprovalStatus::approved, "same")}));
  EXPECT_THAT(text, Not(HasSubstr("open")));
  EXPECT_THAT(text, HasSubstr("AP-8"));
  EXPECT_THAT(text, Not(HasSubstr("AP-7")));
}

// They share one environment variable, whose size the kernel limits: the newest are kept.
TEST(Decisions, size_is_bounded_and_the_newest_stay) {
  std::vector<model::Approval> many;
  for (int i = 100; i > 0; --i) {
    many.push_back(make(i, ApprovalStatus::approved));
    many.back().comment = std::string(4'000, 'x');
  }
  const std::string text = json::encode(describe_decisions(many));
  EXPECT_LT(text.size(), 80U * 1024);
  EXPECT_THAT(text, HasSubstr("\"AP-100\""));
  EXPECT_THAT(text, Not(HasSubstr("\"AP-1\"")));
}

}  // namespace
}  // namespace reeve::runtime
