#include "store/approvals.h"

#include <array>

#include <gmock/gmock.h>

#include "store/runs.h"
#include "tests/store/conformance.h"

namespace reeve::store {
namespace {

using model::ApprovalStatus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* now = "2026-11-15T12:00:00.000Z";

class ApprovalsTest : public testing::Conformance {
 protected:
  // AP-1 … AP-6: 2 is approved, 5 expired; 1, 3, 5 belong to the first run, the others to the second.
  ApprovalsTest() : session_(store_.open_writer()) {
    session_->begin();
    std::array runs = {add_run(), add_run()};
    for (int i = 0; i < 6; ++i) {
      ApprovalRow row;
      row.approval.tool_run_id = runs[static_cast<std::size_t>(i) % runs.size()];
      row.approval.question = "Go on?";
      row.approval.options = model::default_options();
      insert_approval(*session_, row, now);
    }
    session_->commit();
    session_->run_script("UPDATE approvals SET status = 'approved', chosen_value = 'approve' WHERE number = 2");
    session_->run_script("UPDATE approvals SET status = 'expired' WHERE number = 5");
  }

  base::RunId add_run() {
    model::Run run;
    run.tool_name = "aider";
    run.argv = {"aider"};
    run.cwd = "/";
    return insert_run(*session_, run, now);
  }

  std::vector<std::int64_t> list(const ApprovalFilter& filter) {
    std::vector<std::int64_t> numbers;
    for (const model::Approval& approval : list_approvals(*session_, filter)) {
      numbers.push_back(approval.approval_id.number());
    }
    return numbers;
  }

  std::unique_ptr<Session> session_;
};
INSTANTIATE_TEST_SUITE_P(Store, ApprovalsTest,
                         ::testing::Values(Place::Kind::file, Place::Kind::memory, Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// PIP-5: the longest waiting comes first.
TEST_P(ApprovalsTest, pending_ones_are_listed_oldest_first) {
  const std::vector pending = {ApprovalStatus::pending};
  EXPECT_THAT(list({.statuses = pending}), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(list({.statuses = pending, .most = 2}), ElementsAre(1, 3));
  EXPECT_THAT(list({.statuses = pending, .after = base::ApprovalId(3), .most = 2}), ElementsAre(4, 6));
  EXPECT_THAT(list({.statuses = pending, .run = base::RunId(1)}), ElementsAre(1, 3));
  EXPECT_THAT(list({.statuses = pending, .run = base::RunId(1), .after = base::ApprovalId(1)}), ElementsAre(3));
  EXPECT_THAT(list({.statuses = pending, .run = base::RunId(9)}), IsEmpty());
}

// APR-3, RUN-10
TEST_P(ApprovalsTest, risk_and_context_are_kept) {
  ApprovalRow row;
  row.approval.question = "Do you want to proceed?";
  row.approval.options = model::default_options();
  row.approval.risk = model::Risk::high;
  row.approval.risk_reasons = {"runs `rm`", "names CI files: a"};
  row.approval.context = "Bash command\n│ rm x │";
  session_->begin();
  const base::ApprovalId id = insert_approval(*session_, row, now);
  session_->commit();
  const model::Approval found = find_approval(*session_, id)->approval;
  EXPECT_EQ(found.risk, model::Risk::high);
  EXPECT_EQ(found.risk_reasons, row.approval.risk_reasons);
  EXPECT_EQ(found.context, row.approval.context);
  // A row that another program wrote.
  session_->run_script("UPDATE approvals SET risk_reasons = NULL, context = NULL");
  EXPECT_THAT(find_approval(*session_, id)->approval.risk_reasons, IsEmpty());
  EXPECT_EQ(list_approvals(*session_, {}).front().risk, model::Risk::high);
}

TEST_P(ApprovalsTest, other_approvals_are_listed_newest_first) {
  EXPECT_THAT(list({}), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(list({.after = base::ApprovalId(4), .most = 2}), ElementsAre(3, 2));
  EXPECT_THAT(list({.statuses = {ApprovalStatus::approved, ApprovalStatus::expired}}), ElementsAre(5, 2));
  EXPECT_THAT(list({.statuses = {ApprovalStatus::pending, ApprovalStatus::approved}}), ElementsAre(6, 4, 3, 2, 1));
  EXPECT_THAT(list({.run = base::RunId(2)}), ElementsAre(6, 4, 2));
  EXPECT_THAT(list({.statuses = {ApprovalStatus::rejected}}), IsEmpty());
  EXPECT_THAT(list({.statuses = {ApprovalStatus::expired}, .run = base::RunId(1), .after = base::ApprovalId(5)}),
              IsEmpty());
}

}  // namespace
}  // namespace reeve::store
