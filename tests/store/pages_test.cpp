#include <gmock/gmock.h>

#include "runtime/runs/idempotency.h"
#include "store/executions.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// Paged reads and stored responses of the API, on every store.
namespace reeve::store {
namespace {

using model::NodeStatus;
using testing::claims_of;
using ::testing::ElementsAre;
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
