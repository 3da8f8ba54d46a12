#include "ledger/ledger.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/audit.h"
#include "ledger/leases.h"
#include "ledger/runs.h"
#include "spec/workflow_file.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

namespace reeve::ledger {
namespace {

using base::Value;
using testing::claims_of;
using testing::code_of;
using testing::execution_status;
using testing::expect_consistent;
using testing::make_chain;
using testing::make_execution;
using testing::make_fan;
using testing::node_statuses;
using testing::read_column;
using testing::TestLedger;

REEVE_CONFORMANCE(LedgerTest);

// GRF-13, GRF-14: one transition is one transaction; the next step starts in it.
TEST_P(LedgerTest, chain_starts_each_next_node_in_the_same_commit) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_chain(3)));
  auto claims = claims_of(started.step);
  ASSERT_EQ(claims.size(), 1);
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(claims.size(), 1) << "step " << step;
    claims = claims_of(ledger.finish(claims[0]));
  }
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  EXPECT_EQ(node_statuses(*session, started.execution), "n0 completed, n1 completed, n2 completed");
  // execution running, three times running and completed, execution completed.
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM events"), "8\n");
  expect_consistent(*session);
}

TEST_P(LedgerTest, a_fan_waits_for_all) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_fan(20)));
  auto claims = claims_of(ledger.finish(claims_of(started.step).at(0)));
  ASSERT_EQ(claims.size(), 20);
  for (std::size_t i = 0; i + 1 < claims.size(); ++i) EXPECT_TRUE(claims_of(ledger.finish(claims[i])).empty());
  const auto last = claims_of(ledger.finish(claims.back()));
  ASSERT_EQ(last.size(), 1);
  ledger.finish(last[0]);
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  expect_consistent(*session);
}

// A duplicate result, or one for another attempt or an old epoch, changes nothing.
TEST_P(LedgerTest, stale_result_is_refused) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_chain(2)));
  const Claim claim = claims_of(started.step).at(0);
  Claim wrong = claim;
  ++wrong.epoch;
  EXPECT_TRUE(ledger.finish(wrong).is_stale);
  wrong = claim;
  ++wrong.attempt;
  EXPECT_TRUE(ledger.finish(wrong).is_stale);
  wrong = claim;
  ++wrong.iteration;
  EXPECT_TRUE(ledger.fail(wrong).is_stale);
  EXPECT_FALSE(ledger.finish(claim).is_stale);
  EXPECT_TRUE(ledger.finish(claim).is_stale);
  EXPECT_EQ(code_of([&] { ledger.on(base::ExecutionId(999), engine::CancelRequested{"x"}); }), "execution.not_found");
  expect_consistent(*store_.open_bare());
}

constexpr const char* looping = R"(
id: debug
name: debug
entry_point: fix
nodes:
  - {id: fix, type: task, task_config: {role: r}}
  - {id: test, type: gate, gate_config: {gate_type: g}}
  - {id: check, type: branch, branch_config: {condition: {field: passed, operator: "==", value: true, max_iterations: 2}, on_true: done, on_false: fix}}
  - {id: done, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: fix, target: test}
  - {id: e2, source: test, target: check}
  - {id: e3, source: check, target: done}
  - {id: back, source: check, target: fix, is_loop_edge: true}
)";

Value passed(bool yes) {
  Value value = Value::object();
  value.set("passed", Value::boolean(yes));
  return value;
}

// GRF-5: earlier iterations are kept in the history.
TEST_P(LedgerTest, loop_archives_its_nodes_and_restarts) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(looping));
  auto claims = claims_of(started.step);
  for (const bool yes : {false, true}) {
    claims = claims_of(ledger.finish(claims.at(0)));
    claims = claims_of(ledger.finish(claims.at(0), passed(yes), yes));
  }
  ledger.finish(claims.at(0));
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  EXPECT_EQ(read_column(*session, "SELECT iteration FROM node_executions ORDER BY slot"), "1\n1\n1\n0\n");
  EXPECT_EQ(read_column(*session, "SELECT outputs FROM node_history WHERE slot % 1048576 = 1"), "{\"passed\":false}\n");
  EXPECT_EQ(read_column(*session, "SELECT loop_key || ' ' || iteration_count FROM loop_counters"), "back 1\n");
  expect_consistent(*session);
}

TEST_P(LedgerTest, a_loop_ends_at_its_limit) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(looping));
  auto claims = claims_of(started.step);
  for (int round = 0; round < 3; ++round) {
    claims = claims_of(ledger.finish(claims.at(0)));
    claims = claims_of(ledger.finish(claims.at(0), passed(false), false));
  }
  EXPECT_TRUE(claims.empty());
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(read_column(*session, "SELECT reason FROM executions"), "`check` reached its limit of 2 iterations\n");
  expect_consistent(*session);
}

// GRF-7, GRF-14.
TEST_P(LedgerTest, fail_fast_cancels_siblings_and_retry_resumes_them) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_fan(3)));
  const auto claims = claims_of(ledger.finish(claims_of(started.step).at(0)));
  ledger.finish(claims[0]);
  const StepResult failed = ledger.fail(claims[1]);
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(node_statuses(*session, started.execution),
            "first completed, n0 completed, n1 failed, n2 cancelled, last cancelled");
  ASSERT_EQ(failed.work.size(), 1);
  EXPECT_EQ(std::get<CancelWork>(failed.work[0]).claim, claims[2]);
  EXPECT_TRUE(ledger.finish(claims[2]).is_stale) << "it was cancelled meanwhile";

  const auto again = claims_of(ledger.on(started.execution, engine::RetryRequested{}));
  ASSERT_EQ(again.size(), 2);
  EXPECT_EQ(again[0].attempt, 2);
  ledger.finish(again[0]);
  const auto last = claims_of(ledger.finish(again[1]));
  ledger.finish(last.at(0));
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  EXPECT_EQ(read_column(*session, "SELECT attempt FROM node_executions ORDER BY slot"), "1\n1\n2\n2\n1\n");
  expect_consistent(*session);
}

constexpr const char* asking = R"(
id: ask
name: ask
entry_point: review
nodes:
  - {id: review, type: human, human_config: {title: "Ship it?"}}
  - {id: ship, type: task, task_config: {role: r}}
edges:
  - {id: e1, source: review, target: ship}
)";

engine::Answer yes(const std::string& who) { return {engine::Answer::Word::approve, {}, {}, who}; }
engine::Answer no(const std::string& who) { return {engine::Answer::Word::reject, {}, {}, who}; }

// APR-1, APR-2, GRF-12: the question, its answer and the next step.
TEST_P(LedgerTest, question_is_answered_once) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(asking));
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "waiting_approval");
  EXPECT_EQ(read_column(*session, "SELECT approval_id || ' ' || execution_id || ' ' || question FROM approvals"),
            "AP-1 EX-1 Ship it?\n");
  const DecisionResult first = ledger.decide(base::ApprovalId(1), yes("ana"));
  EXPECT_FALSE(first.refusal);
  EXPECT_EQ(claims_of(first.step).size(), 1) << "the next step begins with the decision";
  const DecisionResult second = ledger.decide(base::ApprovalId(1), no("bob"));
  EXPECT_EQ(second.refusal, engine::Refusal::already_resolved);
  EXPECT_EQ(second.approval->decided_by, "ana") << "the second is told who was first";
  EXPECT_FALSE(ledger.decide(base::ApprovalId(7), yes("ana")).approval);
  EXPECT_EQ(read_column(*session, "SELECT kind || ' ' || actor FROM audit_log ORDER BY seq"),
            "approval_requested reeve\napproval_granted ana\ndecision_refused bob\n");
  EXPECT_EQ(read_column(*session, "SELECT outputs FROM node_executions WHERE node_id = 'review'"),
            R"({"approved":true,"chosen_value":"approve","comment":null,"decided_by":"ana"})"
            "\n");
  expect_consistent(*session);
}

TEST_P(LedgerTest, a_rejection_fails_the_execution) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(asking));
  ledger.decide(base::ApprovalId(1), no("ana"));
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(read_column(*session, "SELECT reason FROM executions"), "it was rejected, at node `review`\n");
  expect_consistent(*session);
}

// APR-4: the question of an ended execution expires too.
TEST_P(LedgerTest, cancelled_execution_expires_its_question) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(asking));
  ledger.on(started.execution, engine::CancelRequested{"enough"});
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT status FROM approvals"), "expired\n");
  EXPECT_EQ(ledger.decide(base::ApprovalId(1), yes("ana")).refusal, engine::Refusal::already_resolved);
  EXPECT_EQ(node_statuses(*session, started.execution), "review cancelled, ship cancelled");
  expect_consistent(*session);
}

// APR-4.
TEST_P(LedgerTest, unanswered_question_expires) {
  TestLedger ledger(store_);
  std::string yaml = asking;
  yaml.replace(yaml.find("\"Ship it?\""), 10, "\"Ship it?\", expires: 1ms");
  const auto started = ledger.start(make_execution(yaml));
  const auto expired = ledger->call([&](Transaction& transaction) {
    // Time does not advance within one transaction, so ask for a later moment.
    return find_overdue(transaction.session(), transaction.now() + std::chrono::seconds(1), 10);
  });
  ASSERT_EQ(expired.size(), 1);
  std::optional<model::Approval> approval;
  while (!approval) {
    approval = ledger->call([&](Transaction& transaction) {
      StepResult step;
      return expire_approval(transaction, ledger->executions(), ledger.worker(), expired[0], step);
    });
  }
  EXPECT_EQ(approval->status, model::ApprovalStatus::expired);
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT reason FROM executions"), "its approval expired, at node `review`\n");
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(read_column(*session, "SELECT kind FROM audit_log ORDER BY seq"), "approval_requested\napproval_expired\n");
  expect_consistent(*session);
}

constexpr const char* outer = R"(
id: outer
name: outer
entry_point: inner
nodes:
  - {id: inner, type: subgraph, subgraph_config: {workflow_name: ask, output_mapping: {verdict: approved}}}
  - {id: after, type: task, task_config: {role: r}}
edges:
  - {id: e, source: inner, target: after}
)";

NewExecution make_outer() {
  NewExecution wanted = make_execution(outer);
  const NewExecution inner = make_execution(R"(
id: ask
name: ask
entry_point: work
nodes:
  - {id: work, type: task, task_config: {role: r}}
  - {id: review, type: human, human_config: {title: "Ship it?"}}
edges:
  - {id: e1, source: work, target: review}
)");
  wanted.subgraphs.emplace("ask", NewExecution::Subgraph{inner.hash, inner.workflow});
  return wanted;
}

// GRF-11.
TEST_P(LedgerTest, a_subgraph_is_an_execution_of_its_own) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_outer());
  const auto claims = claims_of(started.step);
  ASSERT_EQ(claims.size(), 1);
  EXPECT_EQ(claims[0].execution, base::ExecutionId(2)) << "the child's first node";
  ledger.finish(claims[0]);
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, base::ExecutionId(2)), "waiting_approval");
  EXPECT_EQ(execution_status(*session, started.execution), "waiting_approval") << "only people can move it (GRF-7)";
  const DecisionResult decided = ledger.decide(base::ApprovalId(1), yes("ana"));
  EXPECT_EQ(execution_status(*session, base::ExecutionId(2)), "completed");
  const auto after = claims_of(decided.step);
  ASSERT_EQ(after.size(), 1) << "the parent goes on in the same transaction";
  EXPECT_EQ(after[0].execution, started.execution);
  EXPECT_EQ(read_column(*session, "SELECT outputs FROM node_executions WHERE node_id = 'inner'"),
            "{\"verdict\":true}\n");
  ledger.finish(after[0]);
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  expect_consistent(*session);
}

// GRF-14: the corrected version replaces the first one and continues where that failed.
TEST_P(LedgerTest, corrected_workflow_continues_with_added_nodes) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_chain(2)));
  const auto claims = claims_of(ledger.finish(claims_of(started.step).at(0)));
  ledger.fail(claims.at(0));
  WorkflowCorrection correction{.workflow = make_chain(4), .by = "ana", .hash = spec::hash_content};
  correction.workflow->id = make_chain(2).id;
  correction.workflow->nodes[1].task_config->task_template = "better";
  StepResult result = ledger->call([&](Transaction& transaction) {
    StepResult step;
    const engine::RetryRequested retry = ledger->executions().correct(transaction, started.execution, correction);
    ledger->executions().step(transaction, started.execution, retry, ledger.worker(), step);
    return step;
  });
  for (int i = 1; i < 4; ++i) {
    const auto next = claims_of(result);
    ASSERT_EQ(next.size(), 1) << i;
    EXPECT_EQ(next[0].node, static_cast<graph::NodeIndex>(i));
    result = ledger.finish(next[0]);
  }
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "completed");
  EXPECT_EQ(node_statuses(*session, started.execution), "n0 completed, n1 completed, n2 completed, n3 completed");
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM workflows"), "2\n");
  EXPECT_THAT(read_column(*session, "SELECT config FROM executions"),
              ::testing::AllOf(::testing::HasSubstr("\"by\":\"ana\""),
                               ::testing::HasSubstr(spec::hash_content(make_chain(2)))));
  expect_consistent(*session);
}

// What is refused changes nothing.
TEST_P(LedgerTest, refused_correction_stores_nothing) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_chain(2)));
  ledger.fail(claims_of(ledger.finish(claims_of(started.step).at(0))).at(0));
  WorkflowCorrection correction{.workflow = make_chain(2), .by = "ana", .hash = spec::hash_content};
  correction.workflow->nodes[0].task_config->task_template = "other";
  EXPECT_EQ(code_of([&] {
              ledger->call([&](Transaction& transaction) {
                ledger->executions().correct(transaction, started.execution, correction);
              });
            }),
            "execution.not_correctable");
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM workflows"), "1\n");
  expect_consistent(*session);
}

TEST_P(LedgerTest, failed_child_fails_its_node_and_retry_resumes_it) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_outer());
  ledger.fail(claims_of(started.step).at(0), "no luck");
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT reason FROM executions ORDER BY number"),
            "no luck, at node `work`, in workflow `ask`, at node `inner`\nno luck, at node `work`\n");
  const auto again = claims_of(ledger.on(started.execution, engine::RetryRequested{}));
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].execution, base::ExecutionId(2)) << "the child goes on, it does not begin anew";
  EXPECT_EQ(again[0].attempt, 2);
  EXPECT_EQ(execution_status(*session, started.execution), "running");
  expect_consistent(*session);
}

TEST_P(LedgerTest, cancelling_the_parent_cancels_the_child) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_outer());
  const StepResult cancelled = ledger.on(started.execution, engine::CancelRequested{"enough"});
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, base::ExecutionId(2)), "cancelled");
  ASSERT_EQ(cancelled.work.size(), 1);
  EXPECT_EQ(std::get<CancelWork>(cancelled.work[0]).claim.execution, base::ExecutionId(2));
  expect_consistent(*session);
}

TEST_P(LedgerTest, missing_subgraph_fails_its_node) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(outer));
  const auto session = store_.open_bare();
  EXPECT_EQ(execution_status(*session, started.execution), "failed");
  EXPECT_EQ(read_column(*session, "SELECT error FROM node_executions WHERE node_id = 'inner'"),
            "there is no workflow `ask`\n");
  expect_consistent(*session);
}

// --- claims and leases ---

// GRF-13: only unstarted work goes to another daemon; from then on the old claim is refused.
TEST_P(LedgerTest, unstarted_claim_is_taken_over) {
  TestLedger first(store_);
  const auto started = first.start(make_execution(make_fan(2)));
  const auto claims = claims_of(first.finish(claims_of(started.step).at(0)));
  TestLedger& second = first;
  EXPECT_TRUE(second->call([&](Transaction& transaction) { return find_lapsed(transaction, "host", 10).empty(); }));
  EXPECT_TRUE(first->call([&](Transaction& transaction) { return mark_spawned(transaction, claims[1], {}); }));
  first->call([&](Transaction& transaction) { end_lease(transaction, first.worker().daemon); });
  EXPECT_FALSE(first->call([&](Transaction& transaction) {
    return renew_lease(transaction, first.worker().daemon, std::chrono::seconds(15));
  })) << "a lease that is over stays over";
  const auto other = second->call([&](Transaction& transaction) {
    return register_daemon(transaction, {"elsewhere", "b"}, std::chrono::seconds(15));
  });
  const auto lapsed = second->call([&](Transaction& transaction) { return find_lapsed(transaction, "host", 10); });
  ASSERT_EQ(lapsed.size(), 2);
  EXPECT_EQ(lapsed[0].claim, claims[0]);
  EXPECT_FALSE(lapsed[0].is_spawned);
  EXPECT_TRUE(lapsed[1].is_spawned);
  const auto taken = second->call([&](Transaction& transaction) { return take_over(transaction, claims[0], other); });
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->epoch, claims[0].epoch + 1);
  EXPECT_FALSE(second->call([&](Transaction& transaction) { return take_over(transaction, claims[0], other); }));
  EXPECT_FALSE(second->call([&](Transaction& transaction) { return take_over(transaction, claims[1], other); }))
      << "it may have begun";
  EXPECT_FALSE(first->call([&](Transaction& transaction) { return mark_spawned(transaction, claims[0], {}); }))
      << "the old owner may not start it any more";
  EXPECT_TRUE(first.finish(claims[0]).is_stale);
  EXPECT_FALSE(second.finish(*taken).is_stale);
  expect_consistent(*store_.open_bare());
}

TEST_P(LedgerTest, lease_is_renewed_only_by_its_daemon) {
  TestLedger ledger(store_);
  EXPECT_TRUE(ledger->call([&](Transaction& transaction) {
    return renew_lease(transaction, ledger.worker().daemon, std::chrono::seconds(60));
  }));
  EXPECT_FALSE(
      ledger->call([&](Transaction& transaction) { return renew_lease(transaction, 999, std::chrono::seconds(60)); }));
}

// --- runs and grants ---

// RUN-1, RUN-2.
TEST_P(LedgerTest, run_follows_legal_transitions) {
  TestLedger ledger(store_);
  const auto id = ledger->call([](Transaction& transaction) {
    return create_run(transaction, {.tool_name = "aider", .argv = {"aider", "--yes"}, .cwd = "/tmp"});
  });
  EXPECT_EQ(id, base::RunId(1));
  const auto move = [&](RunMove to) {
    return ledger->call([&](Transaction& transaction) { return move_run(transaction, id, to); });
  };
  EXPECT_EQ(code_of([&] { move({.to = model::RunStatus::stalled}); }), "run.illegal_move");
  EXPECT_EQ(move({.to = model::RunStatus::running})->status, model::RunStatus::running);
  EXPECT_EQ(code_of([&] { move({.to = model::RunStatus::queued}); }), "run.illegal_move");
  EXPECT_EQ(move({.to = model::RunStatus::failed, .reason = "exit_code != 0", .exit_code = 3})->exit_code, 3);
  EXPECT_EQ(code_of([&] { move({.to = model::RunStatus::running}); }), "run.illegal_move");
  EXPECT_EQ(code_of([&] {
              ledger->call([&](Transaction& transaction) {
                return move_run(transaction, base::RunId(9), {.to = model::RunStatus::running});
              });
            }),
            "run.not_found");
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT kind FROM events"),
            "tool_status_change\ntool_status_change\ntool_status_change\n");
  expect_consistent(*session);
}

// RUN-13: the end time is when the process ended, and never before the start.
TEST_P(LedgerTest, run_end_time_is_that_of_its_process) {
  TestLedger ledger(store_);
  const auto end = [&](base::Milliseconds ago) {
    return ledger->call([&](Transaction& transaction) {
      const base::RunId id = create_run(transaction, {.tool_name = "aider"});
      begin_attempt(transaction, id, {});
      transaction.session().run_script(fmt::format("UPDATE tool_runs SET started_at = '{}' WHERE number = {}",
                                                   base::format_time(transaction.now() - std::chrono::minutes(10)),
                                                   id.number()));
      return std::pair(move_run(transaction, id, {.to = model::RunStatus::completed, .ended_ago = ago}).value(),
                       transaction.now());
    });
  };
  const auto [early, seen] = end(std::chrono::minutes(4));
  EXPECT_EQ(*early.completed_at, seen - std::chrono::minutes(4));
  EXPECT_EQ(*early.duration_ms, base::Milliseconds(std::chrono::minutes(6)).count());
  const auto [clock_was_set, _] = end(std::chrono::hours(1));
  EXPECT_EQ(clock_was_set.completed_at, clock_was_set.started_at);
  EXPECT_EQ(*clock_was_set.duration_ms, 0);
  const auto [at_once, then] = end(base::Milliseconds(0));
  EXPECT_EQ(*at_once.completed_at, then);
}

// APR-7: using the grant and creating the attempt are one transaction, and happen once.
TEST_P(LedgerTest, a_grant_starts_one_attempt) {
  TestLedger ledger(store_);
  const auto run = ledger->call([](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "aider"});
    begin_attempt(transaction, id, {});
    move_run(transaction, id, {.to = model::RunStatus::waiting_approval, .ends_attempt = true});
    return id;
  });
  const auto ask = [&] {
    return ledger->call([&](Transaction& transaction) {
      store::ApprovalRow row;
      row.approval.tool_run_id = run;
      row.approval.question = "go on?";
      row.approval.options = model::default_options();
      row.approval.digest = "sha256:a";
      return open_question(transaction, std::move(row));
    });
  };
  const auto begin = [&](base::ApprovalId grant, const std::string& digest) {
    return ledger->call(
        [&](Transaction& transaction) { return begin_attempt(transaction, run, {.grant = grant, .digest = digest}); });
  };
  const base::ApprovalId first = ask();
  EXPECT_EQ(begin(first, "sha256:a").refusal, engine::GrantRefusal::not_granted) << "nobody said yes yet";
  ledger.decide(first, yes("ana"));
  EXPECT_TRUE(begin(first, "sha256:b").void_reason) << "APR-10: it is not what was approved";
  EXPECT_EQ(begin(first, "sha256:a").refusal, engine::GrantRefusal::already_used) << "a void grant stays void";
  const base::ApprovalId second = ask();
  ledger.decide(second, yes("ana"));
  EXPECT_EQ(begin(second, "sha256:a").attempt, 2);
  ledger->call(
      [&](Transaction& transaction) { return move_run(transaction, run, {.to = model::RunStatus::waiting_approval}); });
  EXPECT_EQ(begin(second, "sha256:a").refusal, engine::GrantRefusal::already_used);
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT attempt FROM run_attempts ORDER BY attempt"), "1\n2\n");
  EXPECT_EQ(read_column(*session, "SELECT use FROM approvals ORDER BY number"), "void\nused\n");
  EXPECT_EQ(read_column(*session, "SELECT kind FROM audit_log ORDER BY seq"),
            "approval_requested\napproval_granted\napproval_voided\napproval_requested\napproval_granted\n"
            "approval_used\n");
  expect_consistent(*session);
}

// GRF-13: a daemon that was paused while its run moved to another attempt or daemon is refused.
TEST_P(LedgerTest, a_late_attempt_is_refused) {
  TestLedger ledger(store_);
  const auto run = ledger->call([](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "aider"});
    begin_attempt(transaction, id, {.epoch = 4});
    return id;
  });
  const auto fail = [&](AttemptClaim claim) {
    return ledger->call([&](Transaction& transaction) {
      return move_run(transaction, run, {.to = model::RunStatus::failed}, claim).has_value();
    });
  };
  EXPECT_FALSE(fail({.attempt = 1, .epoch = 3}));
  EXPECT_FALSE(fail({.attempt = 2, .epoch = 4}));
  EXPECT_TRUE(fail({.attempt = 1, .epoch = 4}));
  EXPECT_FALSE(fail({.attempt = 1, .epoch = 4})) << "the attempt is over";
}

// RUN-18: a run that hit a usage limit waits in the queue and continues as the next attempt.
TEST_P(LedgerTest, rate_limited_run_continues_as_the_next_attempt) {
  TestLedger ledger(store_);
  const auto attempts = ledger->call([](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "aider"});
    begin_attempt(transaction, id, {});
    move_run(transaction, id, {.to = model::RunStatus::queued, .outcome = model::Outcome::limited});
    return begin_attempt(transaction, id, {}).attempt;
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(read_column(*store_.open_bare(), "SELECT state FROM run_attempts ORDER BY attempt"), "ended\nspawned\n");
}

base::ApprovalId ask(Transaction& transaction, base::RunId run) {
  store::ApprovalRow row;
  row.approval.tool_run_id = run;
  row.approval.question = "go on?";
  row.approval.options = model::default_options();
  return open_question(transaction, std::move(row));
}

// RUN-6, APR-4: the questions of an ended run expire.
TEST_P(LedgerTest, ended_run_expires_its_questions) {
  TestLedger ledger(store_);
  ledger->call([](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "aider"});
    begin_attempt(transaction, id, {});
    ask(transaction, id);
    move_run(transaction, id, {.to = model::RunStatus::failed});
  });
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session, "SELECT status FROM approvals"), "expired\n");
  EXPECT_EQ(read_column(*session, "SELECT kind FROM audit_log ORDER BY seq"), "approval_requested\napproval_expired\n");
}

// APR-7
TEST_P(LedgerTest, a_grant_of_one_run_starts_no_other) {
  TestLedger ledger(store_);
  const auto [first, second, grant] = ledger->call([](Transaction& transaction) {
    std::array<base::RunId, 2> runs = {base::RunId(0), base::RunId(0)};
    for (base::RunId& run : runs) {
      run = create_run(transaction, {.tool_name = "aider"});
      begin_attempt(transaction, run, {});
      move_run(transaction, run, {.to = model::RunStatus::waiting_approval, .ends_attempt = true});
    }
    return std::tuple(runs[0], runs[1], ask(transaction, runs[0]));
  });
  ledger.decide(grant, yes("ana"));
  const auto begin = [&, good = grant](base::RunId run) {
    return ledger->call([&](Transaction& transaction) { return begin_attempt(transaction, run, {.grant = good}); });
  };
  EXPECT_EQ(begin(second).refusal, engine::GrantRefusal::not_granted);
  EXPECT_EQ(begin(first).attempt, 2) << "it is still good for its own";
}

// GRF-13: when another daemon takes a loop, its target gets a new claim.
TEST_P(LedgerTest, loop_target_gets_a_new_claim) {
  TestLedger first(store_);
  const auto started = first.start(make_execution(looping));
  const Claim fix = claims_of(started.step).at(0);
  first->call([&](Transaction& transaction) { return mark_spawned(transaction, fix, {}); });
  const Claim test = claims_of(first.finish(fix)).at(0);
  const std::int64_t other = first->call([](Transaction& transaction) {
    return register_daemon(transaction, {"elsewhere", "b"}, std::chrono::seconds(15));
  });
  const auto again = first->call([&](Transaction& transaction) {
    StepResult result;
    first->executions().conclude(transaction, test, engine::NodeFinished{test.node, passed(false), false}, {other, 1},
                                 result);
    return claims_of(result);
  });
  ASSERT_EQ(again.size(), 1);
  EXPECT_GT(again[0].epoch, fix.epoch);
  EXPECT_EQ(
      read_column(*store_.open_bare(), "SELECT daemon || ' ' || spawned FROM node_executions WHERE node_id = 'fix'"),
      fmt::format("{} 0\n", other));
  EXPECT_EQ(read_column(*store_.open_bare(),
                        "SELECT count(*) FROM node_executions WHERE node_id = 'fix' AND started_at IS "
                        "NOT NULL"),
            "1\n");
}

// GRF-2, GRF-8: notes appear in the event of the node.
TEST_P(LedgerTest, notes_appear_in_node_events) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(looping));
  auto claims = claims_of(ledger.finish(claims_of(started.step).at(0)));
  // The output has no `passed`.
  ledger.finish(claims.at(0), Value::object());
  EXPECT_NE(read_column(*store_.open_bare(), "SELECT data FROM events").find("\"notes\":["), std::string::npos);
}

// A NUL byte is stored the same way on every store.
TEST_P(LedgerTest, nul_byte_is_replaced) {
  TestLedger ledger(store_);
  const auto started = ledger.start(make_execution(make_chain(1)));
  ledger.fail(claims_of(started.step).at(0), std::string("a\0b", 3));
  EXPECT_EQ(read_column(*store_.open_bare(), "SELECT error FROM node_executions"),
            "a\xef\xbf\xbd"
            "b\n");
}

}  // namespace
}  // namespace reeve::ledger
