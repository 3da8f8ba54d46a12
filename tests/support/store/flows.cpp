#include "tests/support/store/flows.h"

#include <span>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ledger/audit_check.h"
#include "ledger/leases.h"
#include "spec/workflow_file.h"
#include "view/problem_text.h"

namespace reeve::testing {

using base::Value;
using ledger::Transaction;

ledger::NewExecution make_execution(const model::Workflow& workflow, Value inputs) {
  return {.workflow = workflow, .hash = spec::hash_content(workflow), .inputs = std::move(inputs)};
}

ledger::NewExecution make_execution(const std::string& yaml, Value inputs) {
  const auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("w.yaml", yaml));
  if (!parsed) throw std::runtime_error(view::problems_text(parsed.error(), {}));
  return make_execution(parsed->workflow, std::move(inputs));
}

namespace {

model::Node make_task(std::string id) {
  model::Node node;
  node.id = std::move(id);
  node.task_config = model::TaskConfig{.role = "r"};
  return node;
}

void connect(model::Workflow& workflow, const std::string& from, const std::string& to) {
  model::Edge edge;
  edge.id = fmt::format("e{}", workflow.edges.size());
  edge.source = from;
  edge.target = to;
  workflow.edges.push_back(std::move(edge));
}

}  // namespace

model::Workflow make_chain(int length) {
  model::Workflow workflow;
  workflow.id = workflow.name = fmt::format("chain-{}", length);
  workflow.entry_point = "n0";
  for (int i = 0; i < length; ++i) {
    workflow.nodes.push_back(make_task(fmt::format("n{}", i)));
    if (i > 0) connect(workflow, fmt::format("n{}", i - 1), fmt::format("n{}", i));
  }
  return workflow;
}

model::Workflow make_fan(int width) {
  model::Workflow workflow;
  workflow.id = workflow.name = fmt::format("fan-{}", width);
  workflow.entry_point = "first";
  workflow.config.max_parallel_nodes = width;
  workflow.nodes.push_back(make_task("first"));
  for (int i = 0; i < width; ++i) {
    const std::string id = fmt::format("n{}", i);
    workflow.nodes.push_back(make_task(id));
    connect(workflow, "first", id);
    connect(workflow, id, "last");
  }
  workflow.nodes.push_back(make_task("last"));
  workflow.nodes.back().wait_for_incoming = model::WaitFor::all;
  return workflow;
}

TestLedger::TestLedger(const TestStore& store, ledger::Ledger::Options options, std::size_t room) {
  auto session = store.open_writer();
  session->begin();
  Transaction transaction(*session);
  worker_ = {ledger::register_daemon(transaction, {"host", "boot"}, std::chrono::seconds(15)), room};
  session->commit();
  options.worker = worker_;
  options.hooks.publish = [publish = std::move(options.hooks.publish)](std::span<const ledger::StoredEvent> events) {
    for (const ledger::StoredEvent& event : events) EXPECT_TRUE(event.facts == ledger::read_facts(event)) << event.data;
    if (publish) publish(events);
  };
  ledger_ = std::make_unique<ledger::Ledger>(std::move(session), std::move(options));
}

TestLedger::Started TestLedger::start(const ledger::NewExecution& wanted) {
  return ledger_->call([&](Transaction& transaction) {
    Started started;
    started.execution = ledger_->executions().start(transaction, wanted, worker_, started.step);
    return started;
  });
}

ledger::StepResult TestLedger::finish(const ledger::Claim& claim, Value outputs, bool said_yes) {
  return ledger_->call([&](Transaction& transaction) {
    ledger::StepResult result;
    ledger_->executions().conclude(transaction, claim, engine::NodeFinished{claim.node, outputs, said_yes}, worker_,
                                   result);
    return result;
  });
}

ledger::StepResult TestLedger::fail(const ledger::Claim& claim, const std::string& error) {
  return ledger_->call([&](Transaction& transaction) {
    ledger::StepResult result;
    ledger_->executions().conclude(transaction, claim, engine::NodeFailed{claim.node, model::RetryOn::failed, error},
                                   worker_, result);
    return result;
  });
}

ledger::StepResult TestLedger::on(base::ExecutionId execution, engine::ExecutionEvent event) {
  return ledger_->call([&](Transaction& transaction) {
    ledger::StepResult result;
    ledger_->executions().step(transaction, execution, event, worker_, result);
    return result;
  });
}

ledger::DecisionResult TestLedger::decide(base::ApprovalId id, engine::Answer answer) {
  return ledger_->call([&](Transaction& transaction) {
    return ledger::decide_approval(transaction, ledger_->executions(), worker_, id, answer);
  });
}

std::vector<ledger::Claim> claims_of(const ledger::StepResult& step) {
  std::vector<ledger::Claim> claims;
  for (const ledger::Work& work : step.work) {
    if (const auto* start = std::get_if<ledger::StartWork>(&work)) claims.push_back(start->claim);
  }
  return claims;
}

std::string execution_status(store::Session& session, base::ExecutionId execution) {
  const std::string status =
      read_column(session, fmt::format("SELECT status FROM executions WHERE execution_id = '{}'", execution.text()));
  return status.substr(0, status.find('\n'));
}

std::string node_statuses(store::Session& session, base::ExecutionId execution) {
  std::string result;
  session.query_text(
      fmt::format("SELECT node_id, status FROM node_executions WHERE execution = {} ORDER BY slot", execution.number()),
      [&](const store::Row& row) {
        result += fmt::format("{}{} {}", result.empty() ? "" : ", ", row.text(0), row.text(1));
      });
  return result;
}

void expect_consistent(store::Session& session) {
  std::int64_t expected = 0;
  session.query_text("SELECT seq FROM events ORDER BY seq",
                     [&](const store::Row& row) { ASSERT_EQ(row.integer(0), ++expected) << "a gap in the events"; });
  EXPECT_EQ(read_column(session, "SELECT value FROM counters WHERE name = 'events'"), fmt::format("{}\n", expected));
  const ledger::AuditVerdict verdict = ledger::verify_audit(session);
  EXPECT_TRUE(verdict.is_whole()) << "audit entry " << verdict.broken_at.value_or(0) << ": " << verdict.reason;
  // The counters of an execution match its nodes.
  EXPECT_EQ(read_column(session, R"(
    SELECT e.number FROM executions e WHERE
      nodes_ready <> (SELECT count(*) FROM node_executions n WHERE n.execution = e.number AND n.status = 'ready') OR
      nodes_running <> (SELECT count(*) FROM node_executions n WHERE n.execution = e.number AND n.status = 'running') OR
      nodes_waiting <> (SELECT count(*) FROM node_executions n
                        WHERE n.execution = e.number AND n.status = 'waiting_approval') OR
      nodes_failed <> (SELECT count(*) FROM node_executions n WHERE n.execution = e.number AND n.status = 'failed') OR
      (e.completed_at IS NOT NULL AND EXISTS (SELECT 1 FROM node_executions n WHERE n.execution = e.number AND
        n.status IN ('pending', 'ready', 'running', 'waiting_approval'))))"),
            "");
}

}  // namespace reeve::testing
