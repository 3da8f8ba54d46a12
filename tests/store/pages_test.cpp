#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runtime/runs/idempotency.h"
#include "store/executions.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Paged reads and stored responses of the API, on every store.
namespace reeve::store {
namespace {

using model::NodeStatus;
using testing::claims_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_chain;
using testing::make_execution;
using testing::TestLedger;

REEVE_CONFORMANCE(PagesTest);

std::vector<std::int64_t> places_of(const std::vector<ListedNode>& nodes) {
  std::vector<std::int64_t> places;
  for (const ListedNode& listed : nodes) places.push_back(listed.place);
  return places;
}

TEST_P(PagesTest, nodes_are_listed_in_file_order_per_execution) {
  TestLedger ledger(store_);
  ledger.start(make_execution(make_chain(2)));
  const auto started = ledger.start(make_execution(make_chain(3)));
  ledger.start(make_execution(make_chain(2)));
  const auto session = store_.open_bare();
  const auto list = [&](NodeFilter filter) {
    filter.execution = started.execution;
    return places_of(list_nodes(*session, filter));
  };
  EXPECT_THAT(list({}), ElementsAre(0, 1, 2));
  EXPECT_THAT(list({.most = 2}), ElementsAre(0, 1));
  EXPECT_THAT(list({.after = 1, .most = 2}), ElementsAre(2));
  EXPECT_THAT(list({.after = 2}), IsEmpty());
  EXPECT_THAT(list({.statuses = {NodeStatus::pending}}), ElementsAre(1, 2));
  EXPECT_THAT(list({.statuses = {NodeStatus::running, NodeStatus::ready}}), ElementsAre(0));
  EXPECT_EQ(list_nodes(*session, {.execution = started.execution, .after = 1}).at(0).node.status, NodeStatus::pending);
}

TEST_P(PagesTest, workflow_versions_are_listed_newest_first) {
  TestLedger ledger(store_);
  ledger.start(make_execution(make_chain(2)));
  ledger.start(make_execution(make_chain(2)));
  ledger.start(make_execution(make_chain(3)));
  const auto session = store_.open_bare();
  const auto found = list_workflow_versions(*session, {.workflow = "chain-2"});
  ASSERT_EQ(found.size(), 1U) << "a version is stored once";
  EXPECT_EQ(found[0].workflow_id, "chain-2");
  const auto behind = std::pair(found[0].created_at, found[0].content_hash);
  EXPECT_THAT(list_workflow_versions(*session, {.workflow = "chain-2", .before = behind}), IsEmpty());
  const auto stored = find_workflow(*session, found[0].content_hash);
  ASSERT_TRUE(stored);
  EXPECT_EQ(*stored->definition.find("id")->as_string(), "chain-2");
  EXPECT_FALSE(find_workflow(*session, "sha256:none"));
  EXPECT_THAT(list_workflow_versions(*session, {.workflow = "none"}), IsEmpty());
}

using model::RunStatus;

constexpr std::array all_statuses = {RunStatus::queued,           RunStatus::running,   RunStatus::stalled,
                                     RunStatus::waiting_approval, RunStatus::completed, RunStatus::failed,
                                     RunStatus::failed_timeout,   RunStatus::cancelled};

// Two runs in each status, of two projects.
void add_runs_in_every_status(Session& session) {
  for (const RunStatus status : all_statuses) {
    for (const char* project : {"/one", "/two"}) {
      session.begin();
      model::Run run;
      run.tool_name = "t";
      run.project = model::make_project_ref(project);
      const base::RunId id = insert_run(session, run, "2026-01-01T00:00:00.000Z");
      session.commit();
      if (status == RunStatus::queued) continue;
      session.run_script(fmt::format("UPDATE tool_runs SET status = 'running' WHERE number = {}", id.number()));
      if (status == RunStatus::running) continue;
      session.run_script(fmt::format("UPDATE tool_runs SET status = '{}', completed_at = {} WHERE number = {}",
                                     base::spell(status), is_final(status) ? "'2026-01-01T00:00:01.000Z'" : "NULL",
                                     id.number()));
    }
  }
}

// Lists that have an index of their own give what a search of the whole history gives, in the same order.
TEST_P(PagesTest, runs_are_listed_by_any_statuses) {
  const auto session = store_.open_writer();
  add_runs_in_every_status(*session);
  const auto all = list_runs(*session, {});
  ASSERT_EQ(all.size(), 2 * all_statuses.size());
  for (unsigned set = 1; set < 1U << all_statuses.size(); ++set) {
    RunFilter filter;
    for (std::size_t i = 0; i < all_statuses.size(); ++i) {
      if ((set >> i & 1U) != 0) filter.statuses.push_back(all_statuses[i]);
    }
    for (const std::optional<std::string>& project :
         {std::optional<std::string>(), std::optional<std::string>("/two")}) {
      filter.project = project;
      std::vector<base::RunId> expected;
      for (const model::Run& run : all) {
        const bool is_wanted = std::ranges::find(filter.statuses, run.status) != filter.statuses.end() &&
                               (!project || run.project->path == *project);
        if (is_wanted) expected.push_back(run.tool_run_id);
      }
      std::vector<base::RunId> found;
      filter.before.reset();
      filter.most = 3;
      // Page by page.
      for (auto page = list_runs(*session, filter); !page.empty(); page = list_runs(*session, filter)) {
        for (const model::Run& run : page) found.push_back(run.tool_run_id);
        filter.before = found.back();
      }
      EXPECT_EQ(found, expected) << "set " << set;
    }
  }
}

// They would otherwise read a history of any length.
TEST(OverviewLists, are_found_by_an_index) {
  const testing::TestStore store(Place::Kind::memory);
  const auto session = store.open_writer();
  for (const auto& [statement, index] :
       {std::pair(Sql::runs_list_alive, "tool_runs_alive"), std::pair(Sql::runs_list_failed, "tool_runs_failed"),
        std::pair(Sql::executions_list_alive, "executions_alive"),
        std::pair(Sql::executions_list_failed, "executions_failed"),
        std::pair(Sql::patches_list_unapplied, "patch_ledger_unapplied")}) {
    std::string plan;
    session->query_text("EXPLAIN QUERY PLAN " + std::string(text_of(statement).sqlite),
                        [&](const Row& row) { plan += fmt::format("{}\n", row.text(3)); });
    EXPECT_THAT(plan, HasSubstr(fmt::format("USING INDEX {} ", index)));
  }
}

// An execution in each status, and what each list of the overview finds.
TEST_P(PagesTest, executions_are_listed_by_any_statuses) {
  TestLedger ledger(store_);
  using model::ExecutionStatus;
  const auto failed = ledger.start(make_execution(make_chain(1)));
  ledger.fail(claims_of(failed.step).at(0));
  const auto done = ledger.start(make_execution(make_chain(1)));
  ledger.finish(claims_of(done.step).at(0));
  const auto running = ledger.start(make_execution(make_chain(1)));
  const auto cancelled = ledger.start(make_execution(make_chain(2)));
  ledger.on(cancelled.execution, engine::CancelRequested{"enough"});
  const auto session = store_.open_bare();
  const auto list = [&](std::vector<ExecutionStatus> statuses) {
    std::vector<base::ExecutionId> found;
    for (const model::Execution& one : list_executions(*session, {.statuses = std::move(statuses)})) {
      found.push_back(one.execution_id);
    }
    return found;
  };
  EXPECT_THAT(list({ExecutionStatus::failed}), ElementsAre(failed.execution));
  EXPECT_THAT(list({ExecutionStatus::running}), ElementsAre(running.execution));
  EXPECT_THAT(list({ExecutionStatus::running, ExecutionStatus::waiting_approval}), ElementsAre(running.execution));
  EXPECT_THAT(list({ExecutionStatus::waiting_approval}), IsEmpty());
  EXPECT_THAT(list({ExecutionStatus::failed, ExecutionStatus::completed}),
              ElementsAre(done.execution, failed.execution));
  EXPECT_THAT(list({}), ElementsAre(cancelled.execution, running.execution, done.execution, failed.execution));
}

}  // namespace
}  // namespace reeve::store

// UX: the same key and request get the stored response.
namespace reeve::runtime {
namespace {

REEVE_CONFORMANCE(AnswersTest);

std::optional<SentAnswer> answer_to(ledger::Transaction& transaction, const Idempotency& key) {
  try {
    find_answer(transaction, key);
  } catch (const base::Error& error) {
    return read_repeated(error);
  }
  return std::nullopt;
}

TEST_P(AnswersTest, stored_response_is_completed_once_and_expires) {
  const auto session = store_.open_writer();
  const Idempotency key{.key = "k", .request_hash = "h"};
  session->begin();
  ledger::Transaction transaction(*session);
  EXPECT_FALSE(find_answer(transaction, key));
  remember_answer(transaction, key, "EX-1", "{}");
  EXPECT_EQ(find_answer(transaction, key), "EX-1") << "what it is about, until the answer is whole";
  complete_answer(transaction, key, {201, "{\"a\":1}\n2"});
  complete_answer(transaction, key, {500, "later"});
  const auto answer = answer_to(transaction, key);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "{\"a\":1}\n2");
  EXPECT_THROW(find_answer(transaction, Idempotency{.key = "k", .request_hash = "other"}), base::Error);
  // For a change that does not store the key itself.
  const Idempotency other{.key = "l", .request_hash = "h"};
  complete_answer(transaction, other, {200, std::string(longest_kept_answer + 1, 'x')});
  EXPECT_EQ(answer_to(transaction, other)->status, 200);
  EXPECT_EQ(answer_to(transaction, other)->body, "") << "too long to be kept";
  // Together with the change.
  const Idempotency started{.key = "m", .request_hash = "h", .status = 201};
  remember_answer(transaction, started, "TR-1", "{\"b\":2}");
  EXPECT_EQ(answer_to(transaction, started)->body, "{\"b\":2}");
  forget_answers(transaction, transaction.now() + std::chrono::hours(1));
  EXPECT_FALSE(find_answer(transaction, key));
  session->commit();
}

}  // namespace
}  // namespace reeve::runtime
