#include "ledger/restored.h"

#include <algorithm>
#include <vector>

#include "base/id.h"
#include "ledger/runs.h"
#include "ledger/standing_grants.h"

namespace reeve::ledger {

using base::Value;
using store::Row;
using store::Session;
using store::Sql;

namespace {

constexpr const char* reason = "interrupted: the state was restored from a backup";

// Whether the execution may continue when a person answers: nothing of it runs, and it works in no repository.
bool only_waits(Session& session, std::int64_t root) {
  std::vector<std::int64_t> tree;
  session.query(Sql::execution_tree, {{"execution", root}}, [&](const Row& row) { tree.push_back(row.integer(0)); });
  return std::ranges::none_of(tree, [&](std::int64_t execution) {
    return session.query_number(Sql::restored_is_bound, {{"execution", execution}}) > 0;
  });
}

std::int64_t cancel_executions(Transaction& transaction, Executions& executions) {
  Session& session = transaction.session();
  std::vector<std::int64_t> roots;
  std::vector<std::int64_t> waiting;
  session.query(Sql::restored_roots, {}, [&](const Row& row) {
    const bool is_running = row.word<model::ExecutionStatus>(1) == model::ExecutionStatus::running;
    (is_running ? roots : waiting).push_back(row.integer(0));
  });
  for (const std::int64_t root : waiting) {
    if (!only_waits(session, root)) roots.push_back(root);
  }
  for (const std::int64_t root : roots) {
    StepResult result;
    executions.step(transaction, base::ExecutionId(root), engine::CancelRequested{reason}, {}, result);
  }
  return std::ssize(roots);
}

// A grant is used once (APR-7): in the original, if it still exists.
std::int64_t void_grants(Transaction& transaction) {
  Session& session = transaction.session();
  std::vector<std::int64_t> grants;
  session.query(Sql::restored_grants, {}, [&](const Row& row) { grants.push_back(row.integer(0)); });
  for (const std::int64_t grant : grants) {
    Value data = Value::object();
    data.set("approval_id", Value::string(base::ApprovalId(grant).text()));
    data.set("reason", Value::string(reason));
    transaction.record(model::AuditKind::approval_voided, "reeve", data);
  }
  if (!grants.empty()) session.write_any(Sql::restored_grants_void, {});
  session.write_any(Sql::restored_calls_deny, {{"now", transaction.now_text()}, {"reason", reason}});
  return std::ssize(grants);
}

// The backup does not know which ones were revoked since.
std::int64_t revoke_standing(Transaction& transaction) {
  std::vector<base::GrantId> standing;
  transaction.session().query(Sql::restored_standing, {},
                              [&](const Row& row) { standing.emplace_back(row.integer(0)); });
  for (const base::GrantId grant : standing) revoke_grant(transaction, grant, "reeve");
  return std::ssize(standing);
}

}  // namespace

SettledRestore settle_restored(Transaction& transaction, Executions& executions) {
  Session& session = transaction.session();
  SettledRestore settled;
  settled.executions = cancel_executions(transaction, executions);
  session.write_any(Sql::restored_branches_close, {});
  session.write_any(Sql::restored_worktrees_forget, {});
  session.write_any(Sql::restored_places_forget, {});
  settled.grants = void_grants(transaction) + revoke_standing(transaction);
  std::vector<std::int64_t> runs;
  session.query(Sql::restored_runs, {}, [&](const Row& row) { runs.push_back(row.integer(0)); });
  for (const std::int64_t run : runs) {
    move_run(transaction, base::RunId(run), {.to = model::RunStatus::failed, .reason = reason, .ends_attempt = true});
  }
  settled.runs = std::ssize(runs);
  return settled;
}

}  // namespace reeve::ledger
