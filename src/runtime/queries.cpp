#include "runtime/queries.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "ledger/claims.h"
#include "ledger/patches.h"
#include "ledger/run_questions.h"
#include "runtime/gate/call_grants.h"
#include "runtime/loop/store_task.h"
#include "spec/pipeline_graph.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using model::Approval;
using model::Execution;
using store::NodeDetail;

constexpr std::int64_t max_approvals_of_run = 100;
constexpr std::int64_t max_patches = 10'000;

std::optional<model::Run> find_stored(store::Session& session, base::RunId id) {
  auto found = store::find_run(session, id);
  return found ? std::optional(std::move(found->run)) : std::nullopt;
}

Execution get_stored(store::Session& session, base::ExecutionId id, NodeDetail detail) {
  auto found = store::find_execution(session, id, detail);
  if (!found) {
    throw Error(ErrorCode::execution_not_found, fmt::format("there is no execution {}", id.text()),
                "`reeve flow list` lists them");
  }
  return std::move(*found);
}

Execution get_execution_of_pipeline(store::Session& session, base::ExecutionId id, NodeDetail detail) {
  auto found = store::find_execution(session, id, detail);
  if (!found || !spec::is_pipeline(found->workflow_id)) throw pipeline_not_found(id.text());
  return std::move(*found);
}

wire::PipelineRecord get_stored_pipeline(store::Session& session, base::ExecutionId id) {
  const Execution execution = get_execution_of_pipeline(session, id, NodeDetail::all);
  const auto stored = store::find_execution_workflow(session, id);
  const auto workflow = stored ? json::from_value<model::Workflow>(stored->definition) : model::Workflow();
  if (!workflow) throw Error(ErrorCode::store_damaged, fmt::format("the graph of {} cannot be read", id.text()));
  return wire::make_pipeline_record(execution, *workflow);
}

std::optional<Approval> find_stored(store::Session& session, base::RunId run, const std::string& name) {
  if (const auto id = base::ApprovalId::parse(name)) {
    auto found = store::find_approval(session, *id);
    if (found && found->approval.tool_run_id == run) return std::move(found->approval);
  }
  for (Approval& approval :
       ledger::find_approvals_of(session, run, max_approvals_of_run, model::ApprovalKind::question)) {
    if (approval.tool_ref == name) return std::move(approval);
  }
  return std::nullopt;
}

}  // namespace

base::Error pipeline_not_found(std::string_view name) {
  return {ErrorCode::pipeline_not_found, fmt::format("there is no pipeline {}", name),
          "`reeve pipeline list` lists started pipelines; ids look like EX-9"};
}

model::Workflow decode_workflow(const store::StoredWorkflow& stored) {
  auto workflow = json::from_value<model::Workflow>(stored.definition);
  if (!workflow) throw Error(ErrorCode::store_damaged, fmt::format("the workflow {} cannot be read", stored.hash));
  return std::move(*workflow);
}

void Queries::get_run(base::RunId id, Done<model::Run> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = find_stored(transaction.session(), id);
        if (!found) {
          throw Error(ErrorCode::run_not_found, fmt::format("there is no run {}", id.text()),
                      "`reeve runs` lists them");
        }
        return std::move(*found);
      },
      std::move(done));
}

void Queries::get_rerun(base::RunId id, Done<Rerun> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = find_stored(transaction.session(), id);
        if (!found) {
          throw Error(ErrorCode::run_not_found, fmt::format("there is no run {}", id.text()),
                      "`reeve runs` lists them");
        }
        return Rerun{.run = std::move(*found), .terms = store::find_run_launch(transaction.session(), id)};
      },
      std::move(done));
}

void Queries::find_run(base::RunId id, Done<std::optional<model::Run>> done) const {
  ask_store(
      ledger_, loop_, [id](Transaction& transaction) { return find_stored(transaction.session(), id); },
      std::move(done));
}

void Queries::find_run_host(base::RunId id, int attempt, Done<std::optional<std::string>> done) const {
  ask_store(
      ledger_, loop_,
      [id, attempt](Transaction& transaction) { return ledger::find_run_host(transaction, id, attempt); },
      std::move(done));
}

void Queries::find_live_host(base::RunId id, int attempt, Done<std::optional<std::string>> done) const {
  ask_store(
      ledger_, loop_,
      [id, attempt](Transaction& transaction) { return ledger::find_live_host(transaction, id, attempt); },
      std::move(done));
}

void Queries::find_run_of_approval(base::ApprovalId id, Done<std::optional<model::Run>> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        const auto found = store::find_approval(transaction.session(), id);
        const auto run = found ? found->approval.tool_run_id : std::nullopt;
        return run ? find_stored(transaction.session(), *run) : std::nullopt;
      },
      std::move(done));
}

void Queries::list_runs(const store::RunFilter& filter, Done<std::vector<model::Run>> done) const {
  ask_store(
      ledger_, loop_, [filter](Transaction& transaction) { return store::list_runs(transaction.session(), filter); },
      std::move(done));
}

void Queries::list_projects(const std::string& after, std::int64_t most,
                            Done<std::vector<model::ProjectRef>> done) const {
  ask_store(
      ledger_, loop_,
      [after, most](Transaction& transaction) { return store::list_projects(transaction.session(), after, most); },
      std::move(done));
}

void Queries::has_project(const std::string& path, Done<bool> done) const {
  ask_store(
      ledger_, loop_, [path](Transaction& transaction) { return store::has_project(transaction.session(), path); },
      std::move(done));
}

void Queries::get_approval(base::ApprovalId id, Done<Approval> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = store::find_approval(transaction.session(), id);
        if (!found) {
          throw Error(ErrorCode::approval_not_found, fmt::format("there is no approval {}", id.text()),
                      "`reeve approvals --all` lists them");
        }
        return std::move(found->approval);
      },
      std::move(done));
}

void Queries::list_approvals(const store::ApprovalFilter& filter, Done<std::vector<Approval>> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) { return store::list_approvals(transaction.session(), filter); },
      std::move(done));
}

void Queries::list_approvals_of(base::RunId run, Done<std::vector<Approval>> done) const {
  ask_store(
      ledger_, loop_,
      [run](Transaction& transaction) {
        return ledger::find_approvals_of(transaction.session(), run, max_approvals_of_run);
      },
      std::move(done));
}

void Queries::find_approval_of(base::RunId run, const std::string& name, Done<std::optional<Approval>> done) const {
  ask_store(
      ledger_, loop_, [run, name](Transaction& transaction) { return find_stored(transaction.session(), run, name); },
      std::move(done));
}

void Queries::get_execution(base::ExecutionId id, NodeDetail detail, Done<Execution> done) const {
  ask_store(
      ledger_, loop_, [id, detail](Transaction& transaction) { return get_stored(transaction.session(), id, detail); },
      std::move(done));
}

void Queries::list_executions(const store::ExecutionFilter& filter, Done<std::vector<Execution>> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) { return store::list_executions(transaction.session(), filter); },
      std::move(done));
}

void Queries::list_nodes(const store::NodeFilter& filter, Done<std::vector<store::ListedNode>> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) {
        get_stored(transaction.session(), filter.execution, NodeDetail::none);
        return store::list_nodes(transaction.session(), filter);
      },
      std::move(done));
}

void Queries::get_execution_history(base::ExecutionId id, Done<ExecutionHistory> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        store::Session& session = transaction.session();
        get_stored(session, id, NodeDetail::none);
        return ExecutionHistory{store::read_execution_history(session, id),
                                store::list_patches(session, {.execution = id, .most = max_patches})};
      },
      std::move(done));
}

void Queries::get_execution_runs(base::ExecutionId id, Done<ExecutionRuns> done) const {
  constexpr std::int64_t most = 10'000;
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        store::Session& session = transaction.session();
        const model::Execution execution = get_stored(session, id, NodeDetail::none);
        return ExecutionRuns{.runs = store::list_runs_of_tree(session, id, most),
                             .is_over = model::is_over(execution.status)};
      },
      std::move(done));
}

void Queries::get_execution_graph(base::ExecutionId id, Done<ExecutionGraph> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        store::Session& session = transaction.session();
        ExecutionGraph graph;
        graph.nodes = get_stored(session, id, NodeDetail::brief).nodes;
        graph.workflow = decode_workflow(store::find_execution_workflow(session, id).value());
        return graph;
      },
      std::move(done));
}

void Queries::get_execution_workflow(base::ExecutionId id, Done<store::StoredWorkflow> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        get_stored(transaction.session(), id, NodeDetail::none);
        return store::find_execution_workflow(transaction.session(), id).value();
      },
      std::move(done));
}

void Queries::find_workflow(const std::string& hash, Done<std::optional<store::StoredWorkflow>> done) const {
  ask_store(
      ledger_, loop_, [hash](Transaction& transaction) { return store::find_workflow(transaction.session(), hash); },
      std::move(done));
}

void Queries::list_workflow_versions(const store::VersionFilter& filter,
                                     Done<std::vector<store::WorkflowVersion>> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) { return store::list_workflow_versions(transaction.session(), filter); },
      std::move(done));
}

void Queries::get_pipeline(base::ExecutionId id, Done<wire::PipelineRecord> done) const {
  ask_store(
      ledger_, loop_, [id](Transaction& transaction) { return get_stored_pipeline(transaction.session(), id); },
      std::move(done));
}

void Queries::get_pipeline_once(base::ExecutionId id, const std::optional<Idempotency>& idempotency,
                                Done<std::optional<wire::PipelineRecord>> done) const {
  ask_store(
      ledger_, loop_,
      [id, idempotency](Transaction& transaction) -> std::optional<wire::PipelineRecord> {
        wire::PipelineRecord pipeline = get_stored_pipeline(transaction.session(), id);
        if (find_answer(transaction, idempotency)) return std::nullopt;
        return pipeline;
      },
      std::move(done));
}

void Queries::check_pipeline(base::ExecutionId id, Done<base::ExecutionId> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        return get_execution_of_pipeline(transaction.session(), id, NodeDetail::none).execution_id;
      },
      std::move(done));
}

void Queries::get_patch(base::PatchId id, Done<model::Patch> done) const {
  ask_store(
      ledger_, loop_, [id](Transaction& transaction) { return ledger::get_patch(transaction, id); }, std::move(done));
}

void Queries::list_patches(const store::PatchFilter& filter, Done<std::vector<model::Patch>> done) const {
  ask_store(
      ledger_, loop_, [filter](Transaction& transaction) { return store::list_patches(transaction.session(), filter); },
      std::move(done));
}

void Queries::get_call(base::CallId id, Done<model::ToolCall> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = store::find_call(transaction.session(), id);
        if (!found) {
          throw Error(ErrorCode::call_not_found, fmt::format("there is no tool call {}", id.text()),
                      "`reeve calls` lists them");
        }
        return std::move(found->call);
      },
      std::move(done));
}

void Queries::find_run_of_call(base::CallId id, Done<std::optional<base::RunId>> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        const auto found = store::find_call(transaction.session(), id);
        return found ? std::optional(found->call.tool_run_id) : std::nullopt;
      },
      std::move(done));
}

void Queries::list_calls(const store::CallFilter& filter, Done<std::vector<model::ToolCall>> done) const {
  ask_store(
      ledger_, loop_, [filter](Transaction& transaction) { return store::list_calls(transaction.session(), filter); },
      std::move(done));
}

void Queries::get_grant(base::GrantId id, Done<model::Grant> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = store::find_grant(transaction.session(), id);
        if (!found) throw grant_not_found(id);
        return std::move(*found);
      },
      std::move(done));
}

void Queries::list_grants(const store::GrantFilter& filter, Done<std::vector<model::Grant>> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) {
        return store::list_grants(transaction.session(), filter, transaction.now());
      },
      std::move(done));
}

void Queries::get_task(base::TaskId id, Done<model::Task> done) const {
  ask_store(
      ledger_, loop_,
      [id](Transaction& transaction) {
        auto found = store::find_task(transaction.session(), id);
        if (!found) {
          throw Error(ErrorCode::task_not_found, fmt::format("there is no task {}", base::quoted(id.text())),
                      "ids look like TK-5");
        }
        return std::move(*found);
      },
      std::move(done));
}

void Queries::list_tasks(const store::TaskFilter& filter, Done<std::vector<model::Task>> done) const {
  ask_store(
      ledger_, loop_, [filter](Transaction& transaction) { return store::list_tasks(transaction.session(), filter); },
      std::move(done));
}

void Queries::get_last_event(Done<std::int64_t> done) const {
  ask_store(
      ledger_, loop_,
      [](Transaction& transaction) { return transaction.session().query_number(store::Sql::events_last, {}); },
      std::move(done));
}

void Queries::get_event_range(Done<EventRange> done) const {
  ask_store(
      ledger_, loop_,
      [](Transaction& transaction) {
        store::Session& session = transaction.session();
        return EventRange{.pruned = session.query_number(store::Sql::events_pruned, {}),
                          .last = session.query_number(store::Sql::events_last, {})};
      },
      std::move(done));
}

void Queries::list_audit(std::int64_t since, std::int64_t most, Done<std::vector<AuditEntry>> done) const {
  ask_store(
      ledger_, loop_,
      [since, most](Transaction& transaction) {
        store::Session& session = transaction.session();
        std::int64_t after = since;
        if (since < 0) {
          session.query(store::Sql::audit_last, {}, [&](const store::Row& row) { after += row.integer(0); });
        }
        std::vector<AuditEntry> entries;
        session.query(store::Sql::audit_since, {{"after", std::max<std::int64_t>(after, 0)}, {"most", most}},
                      [&](const store::Row& row) {
                        entries.push_back({.seq = row.integer(0),
                                           .at = std::string(row.text(1)),
                                           .kind = std::string(row.text(2)),
                                           .actor = std::string(row.text(3)),
                                           .data = std::string(row.text(4)),
                                           .previous = std::string(row.text(5)),
                                           .hash = std::string(row.text(6))});
                      });
        return entries;
      },
      std::move(done));
}

void Queries::check_audit(const ledger::AuditCheck& before, Done<std::pair<ledger::AuditCheck, bool>> done) const {
  ask_store(
      ledger_, loop_,
      // A copy, because a unit whose transaction is rolled back runs again from the same state.
      [before](Transaction& transaction) {
        ledger::AuditCheck after = before;
        const bool is_done = after.step(transaction.session());
        return std::pair(std::move(after), is_done);
      },
      std::move(done));
}

}  // namespace reeve::runtime
