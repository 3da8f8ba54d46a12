#include "ledger/agent_sessions.h"
#include "ledger/restored.h"
#include "ledger/retention.h"
#include "tests/store/calls_fixture.h"

// Standing grants and sessions in the ledger (TOOL-8, AGT-4), and what removes or restores them.
namespace reeve::ledger {
namespace {

using model::CallDecision;
using model::CallOutcome;
using model::RunStatus;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Word = engine::Answer::Word;

class StandingGrantsTest : public testing::CallsFixture {
 protected:
  model::Grant make_grant(base::RunId run, const std::string& tool = "mcp:t/asked") {
    model::Grant grant;
    grant.scope = model::GrantScope::run;
    grant.tool_run_id = run;
    grant.agent = "coder";
    grant.tool = tool;
    grant.digest = "sha256:" + tool;
    grant.describes = "exactly this call";
    grant.approval_id = base::ApprovalId(1);
    grant.created_by = "ana";
    grant.expires_at = base::SystemClock().wall_now() + model::default_grant_time;
    return grant;
  }
  model::Grant create(const model::Grant& grant) {
    return call([&](Transaction& transaction) { return create_grant(transaction, grant); });
  }
  std::optional<CallDecision> answer(base::RunId run, const std::string& tool = "mcp:t/asked") {
    return ask(run, fmt::format("n{}", ++names_), tool).row.call.answer;
  }
  int names_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Store, StandingGrantsTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// TOOL-8: a grant allows the calls of its scope until it ends.
TEST_P(StandingGrantsTest, grant_allows_the_calls_of_its_run_until_it_ends) {
  const base::RunId run = begin_run();
  const model::Grant grant = create(make_grant(run));
  const CallStored stored = ask(run);
  EXPECT_EQ(stored.row.call.answer, CallDecision::allow);
  EXPECT_EQ(stored.row.call.grant_id, grant.grant_id);
  EXPECT_EQ(call_of(stored.row.call.call_id).rule, grant.grant_id.text());
  EXPECT_EQ(answer(run, "mcp:t/other"), std::nullopt) << "another tool";
  EXPECT_EQ(answer(begin_run()), std::nullopt) << "another run";
  const auto found = store::find_grant(*session_, grant.grant_id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->uses, 1);
  EXPECT_TRUE(found->last_used_at);
  EXPECT_EQ(found->describes, grant.describes);

  const auto revoke = [&] {
    return call([&](Transaction& transaction) { return revoke_grant(transaction, grant.grant_id, "ben"); });
  };
  EXPECT_EQ(revoke().value().revoked_by, "ben");
  EXPECT_TRUE(revoke());
  EXPECT_EQ(answer(run), std::nullopt);
  EXPECT_FALSE(call([](Transaction& transaction) { return revoke_grant(transaction, base::GrantId(99), "ben"); }));
  EXPECT_EQ(column("SELECT kind FROM audit_log WHERE kind IN ('grant_created', 'grant_revoked') ORDER BY seq"),
            "grant_created\ngrant_revoked\n");
  EXPECT_THAT(store::list_grants(*session_, {}, base::SystemClock().wall_now()), IsEmpty());
  EXPECT_THAT(store::list_grants(*session_, {.with_ended = true}, base::SystemClock().wall_now()), SizeIs(1));
  EXPECT_FALSE(code_of([&] { session_->run_script("UPDATE grants SET tool = 'shell_execute'"); }).empty());
  EXPECT_FALSE(code_of([&] { session_->run_script("UPDATE grants SET revoked_at = 'never'"); }).empty());
}

// TOOL-8: never over a deny, never after its expiry, and only for its agent.
TEST_P(StandingGrantsTest, grant_never_widens_a_deny) {
  const base::RunId run = begin_run();
  create(make_grant(run, "mcp:t/denied"));
  EXPECT_EQ(answer(run, "mcp:t/denied"), CallDecision::deny);
  model::Grant late = make_grant(run);
  late.expires_at = base::SystemClock().wall_now() - std::chrono::seconds(1);
  create(late);
  EXPECT_EQ(answer(run), std::nullopt);
  model::Grant other = make_grant(run, "mcp:t/other");
  other.agent = "reviewer";
  create(other);
  EXPECT_EQ(answer(run, "mcp:t/other"), std::nullopt);
}

TEST_P(StandingGrantsTest, grant_for_an_execution_or_a_project_covers_its_runs) {
  const base::ExecutionId execution = ledger_.start(testing::make_execution(testing::make_chain(2))).execution;
  const auto project = model::make_project_ref("/work");
  const base::RunId inside = begin_run({.project = project, .tool_name = "coder", .execution_id = execution});
  const base::RunId beside = begin_run({.project = project, .tool_name = "coder"});
  const base::RunId elsewhere = begin_run({.tool_name = "coder"});
  model::Grant grant = make_grant(inside);
  grant.scope = model::GrantScope::execution;
  grant.tool_run_id.reset();
  grant.execution_id = execution;
  create(grant);
  EXPECT_EQ(answer(inside), CallDecision::allow);
  EXPECT_EQ(answer(beside), std::nullopt);
  grant.scope = model::GrantScope::project;
  grant.execution_id.reset();
  grant.project = project;
  create(grant);
  EXPECT_EQ(answer(beside), CallDecision::allow);
  EXPECT_EQ(answer(elsewhere), std::nullopt);
  EXPECT_THAT(store::list_grants(*session_, {.project = "/work"}, base::SystemClock().wall_now()), SizeIs(1));
}

TEST_P(StandingGrantsTest, grants_of_a_tool_are_bounded) {
  const base::RunId run = begin_run();
  call([&](Transaction& transaction) {
    for (int i = 0; i < 1'000; ++i) create_grant(transaction, make_grant(run));
  });
  EXPECT_EQ(code_of([&] { create(make_grant(run)); }), "grant.refused");
  try {
    create(make_grant(run));
  } catch (const base::Error& error) {
    EXPECT_THAT(error.fix(), ::testing::HasSubstr("`reeve policy grants`")) << "a command that exists";
  }
  create(make_grant(run, "mcp:t/other"));
}

// AGT-4: what an adapter reports about its sessions.
TEST_P(StandingGrantsTest, sessions_are_noted_once_and_bounded) {
  const base::RunId run = begin_run();
  const auto note = [&](const std::string& name, int attempt, std::optional<std::string> model) {
    return call([&](Transaction& transaction) {
      return note_session(transaction, run, attempt, {.session_id = name, .agent = "claude", .model = std::move(model)})
          .session;
    });
  };
  note("s1", 1, "opus");
  const model::AgentSession again = note("s1", 2, {});
  EXPECT_EQ(again.model, "opus");
  EXPECT_EQ(again.first_attempt, 1);
  EXPECT_EQ(again.last_attempt, 2);
  EXPECT_THAT(find_sessions(*session_, run), ElementsAre(again));
  for (int i = 2; i <= 100; ++i) note(fmt::format("s{}", i), 1, {});
  EXPECT_EQ(code_of([&] { note("more", 1, {}); }), "call.too_many");
  note("s100", 2, {});
  EXPECT_THAT(find_sessions(*session_, run), SizeIs(100));
  EXPECT_THAT(find_sessions(*session_, begin_run()), IsEmpty());
}

// SPEC §7 `retention`: calls, sessions and grants go with their run; a run whose call waits stays.
TEST_P(StandingGrantsTest, pruned_run_takes_its_calls_along) {
  const base::RunId done = begin_run();
  create(make_grant(done));
  model::Grant wide = make_grant(done);
  wide.scope = model::GrantScope::project;
  wide.tool_run_id.reset();
  wide.project = model::make_project_ref("/work");
  create(wide);
  ask(done, "c1", "mcp:t/other");
  call([&](Transaction& transaction) {
    note_session(transaction, done, 1, {.session_id = "s1", .agent = "claude"});
    move_run(transaction, done, {.to = RunStatus::failed});
  });
  const base::RunId waiting = begin_run();
  const CallStored open = ask(waiting);
  leave(waiting, true);
  const base::WallTime later = base::SystemClock().wall_now() + std::chrono::hours(1);
  PruneProgress progress;
  while (progress.phase != PruneProgress::Phase::done) {
    progress = call([&](Transaction& transaction) {
      return prune_batch(
          transaction, {.runs_before = later, .output_before = later, .keep_failed = false, .host = "here"}, progress);
    });
  }
  EXPECT_EQ(progress.counts.runs, 1);
  EXPECT_EQ(column("SELECT count(*) FROM tool_calls"), "1\n");
  EXPECT_EQ(call_of(open.row.call.call_id).outcome, CallOutcome::deferred);
  EXPECT_EQ(column("SELECT count(*) FROM agent_sessions"), "0\n");
  EXPECT_EQ(column("SELECT scope FROM grants"), "project\n") << "a rule of the project outlives its run";
}

// A restored copy acts on nothing that the original may have used or revoked since.
TEST_P(StandingGrantsTest, restored_store_grants_nothing) {
  const base::RunId live = begin_run();
  create(make_grant(live));
  const CallStored lost = ask(live, "c1", "mcp:t/other");
  const base::RunId released = begin_run();
  const CallStored said = ask(released, "c1");
  const CallStored open = ask(released, "c2", "mcp:t/other");
  leave(released, true);
  // Not settled when the backup was made.
  session_->run_script(
      fmt::format("UPDATE approvals SET status = 'approved', decided_at = '2026-01-01T00:00:00.000Z' WHERE number = {}",
                  said.asked->approval_id.number()));
  call([&](Transaction& transaction) { settle_restored(transaction, ledger_->executions()); });
  EXPECT_EQ(status_of(live), RunStatus::failed);
  EXPECT_EQ(call_of(lost.row.call.call_id).outcome, CallOutcome::withdrawn);
  EXPECT_EQ(column("SELECT count(*) FROM grants WHERE revoked_at IS NULL"), "0\n");
  // The ledger may notice the update of another session and settle it before; the yes is then void.
  const bool is_told = GetParam() != store::Place::Kind::memory;
  const auto answer = call_of(said.row.call.call_id).answer;
  EXPECT_TRUE(answer == CallDecision::deny || (is_told && answer == CallDecision::allow));
  EXPECT_EQ(
      column(fmt::format("SELECT count(*) FROM approvals WHERE number = {} AND status = 'approved' AND use = 'unused'",
                         said.asked->approval_id.number())),
      "0\n");
  EXPECT_EQ(status_of(released), RunStatus::waiting_approval) << "it waits for a person only";
  EXPECT_TRUE(decide(open.asked->approval_id, Word::approve));
  EXPECT_EQ(resume(released).attempt, 2);
}

}  // namespace
}  // namespace reeve::ledger
