#include "ledger/caller_questions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/approvals.h"
#include "ledger/retention.h"
#include "store/approvals.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"
#include "tests/support/store/stores.h"

// Questions from outside of runs have no run, execution or node; everything that approvals do works without.
namespace reeve::ledger {
namespace {

using model::Approval;
using model::ApprovalStatus;
using model::ApprovalUse;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_column;
using Word = engine::Answer::Word;

class CallerQuestionsTest : public testing::Conformance {
 protected:
  CallerQuestionsTest() : ledger_(store_) {}

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  CallerAsked ask(const CallerQuestion& question) {
    return call([&](Transaction& transaction) { return ask_for_caller(transaction, question); });
  }
  static CallerQuestion question(std::optional<std::string> reference = {}) {
    return {.asked_by = "ana",
            .reference = std::move(reference),
            .question = "Ship it?",
            .project = "/home/ana/shop",
            .expires_after = std::chrono::hours(1)};
  }
  Approval approval_of(base::ApprovalId id) { return store::find_approval(*session_, id).value().approval; }
  std::string column(const std::string& sql) { return read_column(*session_, sql); }

  testing::TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
};
INSTANTIATE_TEST_SUITE_P(Store, CallerQuestionsTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// APR-1: stored, told and recorded, with its asker.
TEST_P(CallerQuestionsTest, asks_without_a_run) {
  const CallerAsked asked = ask(question());
  EXPECT_TRUE(asked.is_new);
  const Approval stored = approval_of(asked.approval.approval_id);
  EXPECT_EQ(stored, asked.approval);
  EXPECT_EQ(stored.asked_by, "ana");
  EXPECT_EQ(stored.kind, model::ApprovalKind::question);
  EXPECT_FALSE(stored.tool_run_id || stored.execution_id || stored.node_id);
  EXPECT_EQ(stored.project, model::make_project_ref("/home/ana/shop"));
  EXPECT_EQ(stored.risk, model::Risk::medium);
  EXPECT_EQ(stored.options, model::default_options());
  EXPECT_EQ(stored.expires_at, stored.created_at + std::chrono::hours(1));
  EXPECT_THAT(column("SELECT data FROM events WHERE kind = 'approval_needed'"), HasSubstr(R"("asked_by":"ana")"));
  EXPECT_EQ(column("SELECT actor FROM audit_log WHERE kind = 'approval_requested'"), "ana\n");
  const auto listed =
      store::list_approvals(*session_, {.statuses = {ApprovalStatus::pending}, .project = "/home/ana/shop"});
  EXPECT_THAT(listed, ElementsAre(stored));
  EXPECT_THAT(store::list_approvals(*session_, {.statuses = {ApprovalStatus::pending}, .project = "/other"}),
              IsEmpty());
}

// APR-2: decided once; an answer that only its asker reads grants nothing that is left over.
TEST_P(CallerQuestionsTest, is_decided_once) {
  const base::ApprovalId id = ask(question()).approval.approval_id;
  const DecisionResult first = ledger_.decide(id, {Word::approve, {}, "go", "ben"});
  EXPECT_FALSE(first.refusal);
  EXPECT_TRUE(first.step.runs.empty() && first.step.applies.empty());
  EXPECT_EQ(first.approval, approval_of(id));
  EXPECT_EQ(approval_of(id).status, ApprovalStatus::approved);
  EXPECT_EQ(approval_of(id).use, ApprovalUse::used);
  EXPECT_TRUE(ledger_.decide(id, {Word::reject, {}, {}, "eve"}).refusal);
  EXPECT_EQ(approval_of(id).decided_by, "ben");
  const base::ApprovalId other = ask(question()).approval.approval_id;
  ledger_.decide(other, {Word::reject, {}, {}, "ben"});
  EXPECT_EQ(approval_of(other).status, ApprovalStatus::rejected);
  EXPECT_EQ(approval_of(other).use, ApprovalUse::unused);
  testing::expect_consistent(*session_);
}

// APR-4
TEST_P(CallerQuestionsTest, expires_as_a_no) {
  const base::ApprovalId id = ask(question()).approval.approval_id;
  session_->run_script(
      fmt::format("UPDATE approvals SET expires_at = '2020-01-01T00:00:00.000Z' WHERE number = {}", id.number()));
  EXPECT_THAT(call([](Transaction& t) { return find_overdue(t.session(), t.now(), 9); }), ElementsAre(id));
  call([&](Transaction& t) {
    StepResult step;
    expire_approval(t, ledger_->executions(), ledger_.worker(), id, step);
  });
  EXPECT_EQ(approval_of(id).status, ApprovalStatus::expired);
  EXPECT_EQ(column("SELECT count(*) FROM audit_log WHERE kind = 'approval_expired'"), "1\n");
}

// APR-6: a direct SQL update decides it like any other.
TEST_P(CallerQuestionsTest, update_from_outside_is_settled) {
  const base::ApprovalId good = ask(question()).approval.approval_id;
  const base::ApprovalId bad = ask(question()).approval.approval_id;
  session_->run_script(fmt::format("UPDATE approvals SET status = 'approved' WHERE number = {}", good.number()));
  session_->run_script(
      fmt::format("UPDATE approvals SET status = 'approved', chosen_value = 'reject' WHERE number = {}", bad.number()));
  // PostgreSQL tells the ledger of the update, which may then be first.
  const bool is_told = GetParam() == store::Place::Kind::postgresql;
  if (!is_told) {
    EXPECT_THAT(call([](Transaction& t) { return find_outside(t.session(), 9); }), ElementsAre(good, bad));
  }
  const auto settle = [&](base::ApprovalId id) {
    return call([&](Transaction& t) { return settle_outside(t, ledger_->executions(), ledger_.worker(), id).kind; });
  };
  const auto was_first = [&](OutsideResult::Kind kind) { return is_told && kind == OutsideResult::Kind::nothing; };
  const auto settled = settle(good);
  EXPECT_TRUE(settled == OutsideResult::Kind::settled || was_first(settled));
  EXPECT_EQ(approval_of(good).decided_by, "outside");
  EXPECT_EQ(approval_of(good).use, ApprovalUse::used);
  const auto voided = settle(bad);
  EXPECT_TRUE(voided == OutsideResult::Kind::voided || was_first(voided));
  EXPECT_EQ(approval_of(bad).status, ApprovalStatus::pending);
}

TEST_P(CallerQuestionsTest, reference_names_one_question_of_its_asker) {
  const CallerAsked first = ask(question("deploy-7"));
  const CallerAsked again = ask(question("deploy-7"));
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.approval, first.approval);
  CallerQuestion other = question("deploy-7");
  other.question = "Delete it?";
  EXPECT_EQ(code_of([&] { ask(other); }), "approval.reference_used");
  // Somebody else's name for it is another one.
  other.asked_by = "ben";
  EXPECT_TRUE(ask(other).is_new);
  ledger_.decide(first.approval.approval_id, {Word::approve, {}, {}, "ben"});
  EXPECT_EQ(ask(question("deploy-7")).approval.status, ApprovalStatus::approved);
  const auto find = [&](const std::string& who, const std::string& reference) {
    return find_caller_question(*session_, who, reference);
  };
  EXPECT_EQ(find("ana", "deploy-7")->approval_id, first.approval.approval_id);
  EXPECT_FALSE(find("ana", "deploy-8"));
  EXPECT_FALSE(find("eve", "deploy-7"));
}

TEST_P(CallerQuestionsTest, open_questions_of_one_caller_are_bounded) {
  const base::ApprovalId first = ask(question()).approval.approval_id;
  for (int i = 1; i < max_caller_questions; ++i) ask(question());
  EXPECT_EQ(code_of([&] { ask(question()); }), "approval.too_many");
  CallerQuestion other = question();
  other.asked_by = "ben";
  EXPECT_TRUE(ask(other).is_new);
  ledger_.decide(first, {Word::reject, {}, {}, "ben"});
  EXPECT_TRUE(ask(question()).is_new);
}

// SPEC §7 `retention`: answered ones are removed, open ones stay.
TEST_P(CallerQuestionsTest, answered_questions_are_removed_with_old_records) {
  const base::ApprovalId done = ask(question("a")).approval.approval_id;
  const base::ApprovalId open = ask(question("b")).approval.approval_id;
  ledger_.decide(done, {Word::approve, {}, {}, "ben"});
  const auto prune = [&](std::chrono::hours later, bool is_dry_run) {
    const RetentionTerms terms{
        .runs_before = base::SystemClock().wall_now() + later, .is_dry_run = is_dry_run, .host = "here"};
    PruneProgress progress;
    while (progress.phase != PruneProgress::Phase::done) {
      progress = call([&](Transaction& t) { return prune_batch(t, terms, progress); });
    }
  };
  prune(std::chrono::hours(1), true);
  prune(std::chrono::hours(-1), false);
  EXPECT_TRUE(store::find_approval(*session_, done));
  prune(std::chrono::hours(1), false);
  EXPECT_FALSE(store::find_approval(*session_, done));
  EXPECT_EQ(approval_of(open).status, ApprovalStatus::pending);
}

}  // namespace
}  // namespace reeve::ledger
