#include "ledger/patches.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "store/branches.h"
#include "store/stored_json.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// The ledger of patches (ISO-4), on every store.
namespace reeve::ledger {
namespace {

using model::PatchState;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_column;

class PatchesTest : public testing::Conformance {
 protected:
  PatchesTest()
      : ledger_(store_), execution_(ledger_.start(testing::make_execution(testing::make_chain(2))).execution) {}

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  model::Patch make(const std::string& node, const std::string& commit = "c1") const {
    model::Patch patch;
    patch.execution_id = execution_;
    patch.root_id = execution_;
    patch.node_id = node;
    patch.attempt = 1;
    patch.base_commit = "b1";
    patch.commit = commit;
    patch.files = {{"src/a b.cpp", 3, 1}, {"ü", 0, 7, true}};
    patch.diff = "--- a\n+++ b\n";
    return patch;
  }
  base::PatchId create(const model::Patch& patch) {
    return call([&](Transaction& transaction) { return create_patch(transaction, patch); });
  }
  model::Patch move(base::PatchId id, PatchState to, std::optional<std::string> reason = {}) {
    return call([&](Transaction& transaction) { return move_patch(transaction, id, {.to = to, .reason = reason}); });
  }
  model::Patch get(base::PatchId id) {
    return call([&](Transaction& transaction) { return get_patch(transaction, id); });
  }

  testing::TestLedger ledger_;
  std::unique_ptr<store::Session> reader_ = store_.open_reader();
  base::ExecutionId execution_;
};
INSTANTIATE_TEST_SUITE_P(Store, PatchesTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(PatchesTest, patch_is_stored_with_files_and_diff) {
  const base::PatchId id = create(make("fix"));
  EXPECT_EQ(id.text(), "PA-1");
  const model::Patch patch = get(id);
  EXPECT_EQ(patch.files, make("fix").files);
  EXPECT_EQ(patch.diff, make("fix").diff);
  EXPECT_EQ(patch.state, PatchState::created);
  ASSERT_EQ(patch.history.size(), 1U);
  EXPECT_EQ(patch.history[0].state, PatchState::created);
  EXPECT_EQ(read_column(*reader_, "SELECT patch_id FROM patch_ledger"), "PA-1\n");
}

// What earlier versions stored does not say which files a change deletes.
TEST(StoredPatchFiles, of_earlier_versions_are_readable) {
  const auto files = store::decode_stored<std::vector<model::PatchFile>>(R"([{"path":"a","added":1,"removed":2}])");
  EXPECT_EQ(files, (std::vector<model::PatchFile>{{"a", 1, 2, false}}));
}

// A patch collected again after a crash is the same patch.
TEST_P(PatchesTest, repeated_create_returns_the_same_patch) {
  const base::PatchId first = create(make("fix"));
  EXPECT_EQ(create(make("fix")), first);
  EXPECT_EQ(create(make("fix", "c2")), first) << "with what has changed since";
  EXPECT_EQ(get(first).commit, "c2");
  move(first, PatchState::validated);
  EXPECT_EQ(create(make("fix", "c3")), first);
  EXPECT_EQ(get(first).commit, "c2") << "what was validated stays";
  model::Patch next = make("fix");
  next.attempt = 2;
  EXPECT_NE(create(next), first);
  EXPECT_EQ(read_column(*reader_, "SELECT count(*) FROM events WHERE kind = 'patch_state_change'"), "3\n");
}

TEST_P(PatchesTest, every_move_has_its_history_and_its_event) {
  const base::PatchId id = create(make("fix"));
  move(id, PatchState::validated, "every gate passed");
  move(id, PatchState::queued);
  const model::Patch patch = move(id, PatchState::apply_failed, "the checkout is not clean");
  EXPECT_EQ(patch.state, PatchState::apply_failed);
  ASSERT_EQ(patch.history.size(), 4U);
  EXPECT_EQ(patch.history[1].reason, "every gate passed");
  EXPECT_EQ(patch.history[3].reason, "the checkout is not clean");
  EXPECT_LE(patch.history[0].at, patch.history[3].at);
  EXPECT_EQ(get(id).history, patch.history);
  const std::string events = read_column(*reader_, "SELECT data FROM events WHERE kind = 'patch_state_change'");
  EXPECT_THAT(events, HasSubstr(R"("from":"queued","state":"apply_failed","reason":"the checkout is not clean")"));
  testing::expect_consistent(*reader_);
}

// ISO-4: illegal transitions are refused, and emit no event.
TEST_P(PatchesTest, an_illegal_move_is_refused_and_changes_nothing) {
  const base::PatchId id = create(make("fix"));
  EXPECT_EQ(code_of([&] { move(id, PatchState::committed); }), "patch.illegal_move");
  EXPECT_EQ(code_of([&] { move(base::PatchId(99), PatchState::dropped); }), "patch.not_found");
  EXPECT_EQ(get(id).history.size(), 1U);
  EXPECT_EQ(read_column(*reader_, "SELECT count(*) FROM events WHERE kind = 'patch_state_change'"), "1\n");
}

TEST_P(PatchesTest, are_listed_by_execution_and_state_newest_first) {
  const base::PatchId a = create(make("a"));
  const base::PatchId b = create(make("b"));
  const base::ExecutionId other = ledger_.start(testing::make_execution(testing::make_chain(1))).execution;
  model::Patch foreign = make("c");
  foreign.execution_id = other;
  const base::PatchId c = create(foreign);
  foreign.root_id = other;
  const base::PatchId d = create(foreign);
  move(b, PatchState::rejected);
  const auto list = [&](store::PatchFilter filter) {
    return call([&](Transaction& transaction) {
      std::vector<base::PatchId> ids;
      for (const model::Patch& patch : store::list_patches(transaction.session(), filter)) {
        EXPECT_EQ(patch.diff, "") << "a listing has none";
        ids.push_back(patch.patch_id);
      }
      return ids;
    });
  };
  EXPECT_THAT(list({}), ElementsAre(d, c, b, a));
  EXPECT_THAT(list({.execution = execution_}), ElementsAre(c, b, a)) << "also what a subgraph changed on its branch";
  EXPECT_THAT(list({.execution = other}), ElementsAre(d, c));
  EXPECT_THAT(list({.states = {PatchState::rejected, PatchState::dropped}}), ElementsAre(b));
  EXPECT_THAT(list({.before = c, .most = 1}), ElementsAre(b));
}

TEST_P(PatchesTest, branches_and_worktrees_are_kept) {
  const auto in_store = [&](auto act) {
    return call([&](Transaction& transaction) { return act(transaction.session()); });
  };
  in_store([&](store::Session& session) {
    store::insert_branch(session, {.root = execution_, .host = "h", .project = "/p", .base_commit = "b1"});
    store::write_worktree(session, execution_, "h",
                          {.name = "", .base_commit = "b1", .start_commit = "b1", .kept_commit = "b1"});
  });
  const store::WorktreeLease holder{execution_, "fix", 2, 3};
  in_store([&](store::Session& session) {
    store::write_worktree(session, execution_, "h",
                          {.name = "",
                           .is_ready = true,
                           .holder = holder,
                           .base_commit = "b2",
                           .start_commit = "s2",
                           .kept_commit = "k2"});
    store::move_branch(session, *store::find_branch(session, execution_), "b2");
  });
  const auto rows = in_store([&](store::Session& session) { return store::find_worktrees(session, execution_, "h"); });
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].holder, holder);
  EXPECT_TRUE(rows[0].is_ready);
  EXPECT_EQ(rows[0].kept_commit, "k2");
  EXPECT_EQ(in_store([&](store::Session& session) { return store::find_branch(session, execution_)->tip; }), "b2");
  EXPECT_EQ(in_store([&](store::Session& session) { return store::find_open_branches(session, "h").size(); }), 1U);
  EXPECT_EQ(in_store([&](store::Session& session) { return store::find_open_branches(session, "other").size(); }), 0U);
  in_store([&](store::Session& session) {
    store::delete_worktree(session, execution_, "h", "");
    store::set_branch_open(session, execution_, false);
  });
  EXPECT_EQ(in_store([&](store::Session& session) { return store::find_open_branches(session, "h").size(); }), 0U);
  EXPECT_EQ(in_store([&](store::Session& session) { return store::find_worktrees(session, execution_, "h").size(); }),
            0U);
}

// STO-2: a question from an older schema keeps its delivery.
TEST_P(PatchesTest, migrated_question_keeps_its_delivery) {
  testing::TestStore old(GetParam());
  const auto session = old.open_bare();
  store::migrate(*session, 2);
  session->run_script(std::string("INSERT INTO approvals (") + (old.is_postgresql() ? "approval_id, " : "") +
                      "kind, question, options_json, status, created_at, delivery) VALUES (" +
                      (old.is_postgresql() ? "'AP-1', " : "") + "'question', 'q', '[]', 'pending', 'now', 'terminal')");
  store::migrate(*session);
  EXPECT_EQ(read_column(*session, "SELECT delivery FROM approvals"), "terminal\n");
  session->run_script("UPDATE approvals SET delivery = 'apply'");
  EXPECT_EQ(read_column(*session, "SELECT delivery FROM approvals"), "apply\n");
}

}  // namespace
}  // namespace reeve::ledger
