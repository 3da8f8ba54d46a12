#include "ledger/retention.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"
#include "ledger/patches.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// SPEC §7 `retention`, on every store: old records go with everything that belongs to them; unfinished work, audit
// entries and ids stay.
namespace reeve::ledger {
namespace {

using model::PatchState;
using testing::code_of;
using ::testing::ElementsAre;
using testing::read_column;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class RetentionTest : public testing::Conformance {
 protected:
  RetentionTest() : ledger_(store_) {}

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  // Everything that has ended counts as old.
  static RetentionTerms all_terms() {
    const base::WallTime later = base::SystemClock().wall_now() + std::chrono::hours(1);
    return {.runs_before = later, .output_before = later, .keep_failed = false, .host = "here"};
  }
  PruneCounts prune(const RetentionTerms& terms) {
    PruneProgress progress;
    while (progress.phase != PruneProgress::Phase::done) {
      progress = call([&](Transaction& t) { return prune_batch(t, terms, progress); });
    }
    return progress.counts;
  }
  base::ExecutionId start() { return ledger_.start(testing::make_execution(testing::make_chain(2))).execution; }
  base::ExecutionId finish_one() {
    auto started = ledger_.start(testing::make_execution(testing::make_chain(2)));
    for (auto claims = testing::claims_of(started.step); !claims.empty();) {
      claims = testing::claims_of(ledger_.finish(claims.front()));
    }
    return started.execution;
  }
  // A run outside of executions, with an attempt on a host.
  std::int64_t add_run(const std::string& status, const std::string& host = "here") {
    return call([&](Transaction& t) {
      model::Run run;
      run.tool_name = "zoo";
      const std::int64_t number = store::insert_run(t.session(), run, t.now_text()).number();
      const bool is_over = status != "running" && status != "waiting_approval";
      if (status != "queued") {
        t.session().run_script(fmt::format("UPDATE tool_runs SET status = 'running' WHERE number = {}", number));
      }
      if (status != "queued" && status != "running") {
        t.session().run_script(fmt::format("UPDATE tool_runs SET status = '{}', completed_at = {} WHERE number = {}",
                                           status, is_over ? "'" + t.now_text() + "'" : "NULL", number));
      }
      t.session().run_script(
          fmt::format("INSERT INTO run_attempts (run, attempt, state, host, started_at) "
                      "VALUES ({}, 1, 'ended', '{}', 'then')",
                      number, host));
      return number;
    });
  }
  std::int64_t count(const std::string& table) {
    return std::stoll(read_column(*reader_, "SELECT COUNT(*) FROM " + table));
  }

  testing::TestLedger ledger_;
  std::unique_ptr<store::Session> reader_ = store_.open_reader();
};
INSTANTIATE_TEST_SUITE_P(Store, RetentionTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(RetentionTest, finished_runs_go_and_unfinished_ones_stay) {
  const std::int64_t done = add_run("completed");
  const std::int64_t failed = add_run("failed");
  for (const char* status : {"running", "waiting_approval"}) add_run(status);
  RetentionTerms terms = all_terms();
  terms.is_dry_run = true;
  EXPECT_EQ(prune(terms).runs, 2);
  EXPECT_EQ(count("tool_runs"), 4) << "a dry run only counts";
  terms.is_dry_run = false;
  terms.keep_failed = true;
  terms.output_before.reset();
  EXPECT_EQ(prune(terms).runs, 1);
  EXPECT_EQ(read_column(*reader_, "SELECT number FROM tool_runs ORDER BY number"), "2\n3\n4\n");
  EXPECT_EQ(prune(all_terms()).runs, 1);
  EXPECT_EQ(read_column(*reader_, "SELECT number FROM tool_runs ORDER BY number"), "3\n4\n");
  EXPECT_EQ(count("run_attempts"), 2);
  // Their folders are left to the host that has them.
  const auto left = call([](Transaction& t) { return list_removals(t, "here", RemovalsOf::this_host, 0, 100); });
  std::set<std::int64_t> subjects;
  for (const Removal& removal : left) subjects.insert(removal.subject);
  EXPECT_THAT(subjects, UnorderedElementsAre(done, failed));
  // Ids are never used again.
  EXPECT_GT(add_run("completed"), 4);
}

TEST_P(RetentionTest, recent_work_stays) {
  add_run("completed");
  finish_one();
  RetentionTerms terms = all_terms();
  terms.runs_before = terms.output_before = base::SystemClock().wall_now() - std::chrono::hours(1);
  EXPECT_EQ(prune(terms), PruneCounts());
  EXPECT_EQ(count("removals"), 0);
}

TEST_P(RetentionTest, question_that_waits_keeps_its_run) {
  const std::int64_t run = add_run("completed");
  const bool is_postgresql = store_.is_postgresql();
  call([&](Transaction& t) {
    t.session().run_script(
        fmt::format("INSERT INTO approvals ({}kind, run, question, options_json, status, created_at) "
                    "VALUES ({}'question', {}, 'q', '[]', 'pending', 'now')",
                    is_postgresql ? "approval_id, " : "", is_postgresql ? "'AP-1', " : "", run));
  });
  EXPECT_EQ(prune(all_terms()), PruneCounts());
  call([&](Transaction& t) {
    t.session().run_script("UPDATE approvals SET status = 'expired', decided_at = 'now', settled = 1");
  });
  EXPECT_EQ(prune(all_terms()).runs, 1);
  EXPECT_EQ(count("approvals"), 0);
}

TEST_P(RetentionTest, execution_goes_with_all_that_belongs_to_it) {
  const base::ExecutionId done = finish_one();
  start();
  add_run("completed", "there");
  call([&](Transaction& t) {
    t.session().run_script(fmt::format("UPDATE tool_runs SET execution = {}, node_id = 'a'", done.number()));
  });
  const PruneCounts counts = prune(all_terms());
  EXPECT_EQ(counts.executions, 1);
  EXPECT_EQ(counts.runs, 1);
  EXPECT_EQ(read_column(*reader_, "SELECT number FROM executions"), "2\n");
  EXPECT_EQ(count("tool_runs"), 0);
  EXPECT_EQ(read_column(*reader_, "SELECT DISTINCT execution FROM node_executions"), "2\n");
  EXPECT_THAT(call([](Transaction& t) { return list_removals(t, "here", RemovalsOf::this_host, 0, 9); }), SizeIs(0));
  EXPECT_THAT(call([](Transaction& t) { return list_removals(t, "there", RemovalsOf::this_host, 0, 9); }), SizeIs(1));
  EXPECT_THAT(call([](Transaction& t) { return list_removals(t, "here", RemovalsOf::any_host, 0, 9); }), SizeIs(1));
  // The other one continues.
  EXPECT_EQ(testing::execution_status(*reader_, base::ExecutionId(2)), "running");
}

// ISO-4: a change that is in no checkout is unfinished work.
TEST_P(RetentionTest, unapplied_patch_keeps_its_execution) {
  const base::ExecutionId execution = finish_one();
  const base::PatchId patch = call([&](Transaction& t) {
    model::Patch made;
    made.execution_id = made.root_id = execution;
    made.node_id = "a";
    made.attempt = 1;
    made.base_commit = "b";
    made.commit = "c";
    return create_patch(t, made);
  });
  call([&](Transaction& t) {
    t.session().run_script(
        fmt::format("INSERT INTO branches (root, host, home, project, base_commit, tip, is_open) "
                    "VALUES ({}, 'here', 'here', '/p', 'b', 'tip', 0)",
                    execution.number()));
  });
  EXPECT_EQ(prune(all_terms()).executions, 0);
  call([&](Transaction& t) { move_patch(t, patch, {.to = PatchState::dropped, .reason = "not wanted"}); });
  EXPECT_EQ(prune(all_terms()).executions, 1);
  EXPECT_EQ(count("patch_ledger"), 0);
  const auto left = call([](Transaction& t) { return list_removals(t, "here", RemovalsOf::this_host, 0, 9); });
  ASSERT_THAT(left, SizeIs(2));
  EXPECT_EQ(left[0].kind, RemovalKind::patch);
  EXPECT_EQ(left[0].commit, "c");
  EXPECT_EQ(left[1].kind, RemovalKind::branch);
  EXPECT_EQ(left[1].project, "/p");
  EXPECT_EQ(left[1].commit, "tip");
}

TEST_P(RetentionTest, open_branch_keeps_its_execution) {
  const base::ExecutionId execution = finish_one();
  call([&](Transaction& t) {
    t.session().run_script(
        fmt::format("INSERT INTO branches (root, host, home, project, base_commit, tip, is_open) "
                    "VALUES ({}, 'here', 'here', '/p', 'b', 'tip', 1)",
                    execution.number()));
  });
  EXPECT_EQ(prune(all_terms()).executions, 0);
}

TEST_P(RetentionTest, output_is_removed_once_and_its_run_stays) {
  add_run("completed");
  add_run("failed");
  add_run("running");
  RetentionTerms terms = all_terms();
  terms.runs_before.reset();
  EXPECT_EQ(prune(terms).outputs, 2);
  EXPECT_EQ(prune(terms).outputs, 0);
  EXPECT_EQ(count("tool_runs"), 3);
  EXPECT_EQ(count("removals"), 2);
}

// SPEC §9: what remains has no gaps, and nothing else may delete events.
TEST_P(RetentionTest, events_are_removed_from_the_first_one_on) {
  finish_one();
  const std::int64_t last = std::stoll(read_column(*reader_, "SELECT value FROM counters WHERE name = 'events'"));
  EXPECT_NE(code_of([&] { call([](Transaction& t) { t.session().run_script("DELETE FROM events WHERE seq = 1"); }); }),
            "");
  EXPECT_EQ(prune(all_terms()).events, last);
  EXPECT_EQ(count("events"), 0);
  finish_one();
  EXPECT_EQ(read_column(*reader_, "SELECT MIN(seq) FROM events"), fmt::format("{}\n", last + 1));
  EXPECT_NE(code_of([&] { call([](Transaction& t) { t.session().run_script("DELETE FROM events"); }); }), "");
}

TEST_P(RetentionTest, events_since_the_oldest_unfinished_work_stay) {
  finish_one();
  start();
  finish_one();
  const std::int64_t older =
      count("events WHERE at < (SELECT MIN(started_at) FROM executions WHERE status = 'running')");
  const PruneCounts counts = prune(all_terms());
  EXPECT_EQ(counts.executions, 2);
  EXPECT_EQ(counts.events, older);
  EXPECT_GT(count("events"), 0);
  const std::string first = read_column(*reader_, "SELECT MIN(started_at) FROM executions");
  EXPECT_GE(read_column(*reader_, "SELECT MIN(at) FROM events"), first);
}

// APR-14
TEST_P(RetentionTest, audit_entries_stay) {
  call([](Transaction& t) { t.record(model::AuditKind::policy_denied, "anna", base::Value::object()); });
  add_run("completed");
  prune(all_terms());
  EXPECT_EQ(count("audit_log"), 1);
}

TEST_P(RetentionTest, one_prune_at_a_time) {
  const auto first = call([](Transaction& t) { return begin_prune(t, "anna"); });
  ASSERT_TRUE(first);
  EXPECT_EQ(call([](Transaction& t) { return begin_prune(t, "ben"); }), std::nullopt);
  call([&](Transaction& t) { hold_prune(t, *first); });
  call([&](Transaction& t) { end_prune(t, *first, {.runs = 3}); });
  EXPECT_NE(code_of([&] { call([&](Transaction& t) { hold_prune(t, *first); }); }), "");
  EXPECT_TRUE(call([](Transaction& t) { return begin_prune(t, "ben"); }));
  EXPECT_EQ(read_column(*reader_, "SELECT asked_by FROM prunes ORDER BY number"), "anna\nben\n");
  // The right of a daemon that died ends by itself.
  call([](Transaction& t) { t.session().run_script("UPDATE prunes SET held_until = '2020' WHERE ended_at IS NULL"); });
  EXPECT_TRUE(call([](Transaction& t) { return begin_prune(t, "carl"); }));
}

TEST_P(RetentionTest, is_due_once_a_day_if_there_is_something_old) {
  const auto later = base::SystemClock().wall_now() + std::chrono::hours(1);
  const auto is_due = [&](base::WallTime before) {
    return call([&](Transaction& t) { return is_prune_due(t, before); });
  };
  EXPECT_FALSE(is_due(later)) << "an empty store";
  finish_one();
  EXPECT_FALSE(is_due(later - std::chrono::hours(2)));
  EXPECT_TRUE(is_due(later));
  const auto number = call([](Transaction& t) { return begin_prune(t, "reeve"); });
  call([&](Transaction& t) { end_prune(t, *number, {}); });
  EXPECT_FALSE(is_due(later));
}

// A table that refers to runs, executions or approvals must be pruned with them: add it to ledger/retention.cpp first.
TEST(Retention, every_reference_is_known) {
  testing::TestStore store(store::Place::Kind::file);
  const auto session = store.open_writer();
  const std::string references = read_column(*session, R"(
    SELECT DISTINCT m.name || ' -> ' || f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f
    WHERE m.type = 'table' AND f."table" IN ('tool_runs', 'executions', 'approvals', 'patch_ledger', 'branches',
      'node_executions') ORDER BY 1)");
  std::vector<std::string> found;
  for (const std::string_view line : base::split(base::trim(references), '\n')) found.emplace_back(line);
  EXPECT_THAT(found, ElementsAre("agent_sessions -> tool_runs", "approvals -> executions", "approvals -> tool_runs",
                                 "branch_places -> branches", "branches -> executions", "executions -> executions",
                                 "grants -> executions", "grants -> tool_runs", "loop_counters -> executions",
                                 "node_executions -> approvals", "node_executions -> executions",
                                 "node_executions -> tool_runs", "node_history -> node_executions",
                                 "patch_ledger -> executions", "phase_records -> executions",
                                 "recovery_events -> tool_runs", "run_attempts -> approvals",
                                 "run_attempts -> tool_runs", "tasks -> executions", "tool_calls -> approvals",
                                 "tool_calls -> tool_runs", "tool_runs -> executions", "worktrees -> branches"));
}

}  // namespace
}  // namespace reeve::ledger
