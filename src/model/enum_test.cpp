#include "base/enum.h"

#include <memory>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "json/describe.h"
#include "json/encode.h"
#include "model/agent.h"
#include "model/approval.h"
#include "model/config.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/pipeline.h"
#include "model/policy.h"
#include "model/risk.h"
#include "model/run.h"
#include "model/task.h"
#include "model/workflow.h"

namespace reeve::model {
namespace {

template <class E>
class DescribedEnum : public ::testing::Test {};

using AllEnums = ::testing::Types<RunStatus, Outcome, Stream, RunMode, Liveness, OnStall, PromptAction, ResumeWay,
                                  OnInterrupted, Headless, Sandbox, ApprovalStatus, ApprovalUse, ApprovalKind, NodeType,
                                  InputType, Operator, WaitFor, ParallelWait, MergeStrategy, BranchOutcome, ApplyWhen,
                                  Isolation, RetryOn, ExecutionStatus, NodeStatus, EdgeState, AgentState, AgentEvent,
                                  TaskStatus, PatchState, EventKind, StepType, PipelineStatus, StepStatus, Policy,
                                  GateSeverity, OnGateFail, NotifyOn, NotifyFormat, Risk>;
TYPED_TEST_SUITE(DescribedEnum, AllEnums);

TYPED_TEST(DescribedEnum, spellings_are_unique_and_round_trip) {
  std::set<std::string_view> spellings;
  for (const auto& entry : base::names_of<TypeParam>()) {
    EXPECT_TRUE(spellings.insert(entry.name).second) << entry.name;
    EXPECT_EQ(base::spell(entry.value), entry.name);
    EXPECT_EQ(base::find_enum<TypeParam>(entry.name), entry.value);
  }
  EXPECT_FALSE(base::find_enum<TypeParam>("no such word"));
  EXPECT_FALSE(base::find_enum<TypeParam>(""));
}

TYPED_TEST(DescribedEnum, encodes_to_its_spelling_in_json) {
  for (const auto& entry : base::names_of<TypeParam>()) {
    EXPECT_EQ(json::encode(json::to_value(entry.value)), fmt::format("\"{}\"", entry.name));
  }
}

// The CHECK that guards a column accepts exactly the spellings.
TYPED_TEST(DescribedEnum, check_constraint_accepts_exactly_the_spellings) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &raw), SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(raw, &sqlite3_close);
  const auto run = [&](const std::string& sql) { return sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr); };
  ASSERT_EQ(run(fmt::format("CREATE TABLE t (v TEXT NOT NULL CHECK (v IN ({}))) STRICT", base::sql_names<TypeParam>())),
            SQLITE_OK);
  for (const auto& entry : base::names_of<TypeParam>()) {
    EXPECT_EQ(run(fmt::format("INSERT INTO t VALUES ('{}')", entry.name)), SQLITE_OK) << entry.name;
  }
  EXPECT_EQ(run("INSERT INTO t VALUES ('no such word')"), SQLITE_CONSTRAINT);
  EXPECT_EQ(run("INSERT INTO t VALUES ('')"), SQLITE_CONSTRAINT);
}

TEST(EnumSpelling, keyword_enumerators_drop_the_underscore) {
  EXPECT_EQ(base::spell(MergeStrategy::union_), "union");
  EXPECT_EQ(base::spell(ApprovalUse::void_), "void");
}

// GRF-2
TEST(EnumSpelling, operators_use_their_symbols) {
  EXPECT_EQ(base::sql_names<Operator>(),
            "'==', '!=', '>', '<', '>=', '<=', 'in', 'not_in', 'contains', 'starts_with', 'ends_with'");
}

}  // namespace
}  // namespace reeve::model
