#include <utility>

#include <fmt/format.h>

#include "base/enum.h"
#include "json/describe.h"
#include "model/execution.h"
#include "model/patch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/queries.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// The changes of an execution as a whole: showing them, and applying them to the user's checkout (ISO-3).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Execution;
using runtime::Isolation;

struct ExecutionDiff {
  base::ExecutionId execution_id{0};
  // Null if the execution has no branch: no project under git, `isolation: none`, or nothing was changed.
  std::optional<std::string> branch;
  std::optional<std::string> base_commit;
  std::optional<std::string> commit;
  std::vector<model::PatchFile> files;
  std::string diff;
  // The diff is longer than what is shown; git has the rest.
  bool is_cut = false;
};
BOOST_DESCRIBE_STRUCT(ExecutionDiff, (), (execution_id, branch, base_commit, commit, files, diff, is_cut))

enum class ApplyOutcome { applied, asked, nothing };
REEVE_DESCRIBE_ENUM(ApplyOutcome, applied, asked, nothing)

struct AppliedExecution {
  base::ExecutionId execution_id{0};
  ApplyOutcome outcome = ApplyOutcome::nothing;
  std::string message;
  // The new commit of the checkout, if applied.
  std::optional<std::string> commit;
  // The approval that must be given first, if asked.
  std::optional<base::ApprovalId> approval_id;
};
BOOST_DESCRIBE_STRUCT(AppliedExecution, (), (execution_id, outcome, message, commit, approval_id))

// A subgraph works on the branch of the execution that started it.
void refuse_part(const Execution& execution, std::string_view command) {
  if (!execution.parent) return;
  const std::string parent = execution.parent->execution_id.text();
  throw Error(ErrorCode::execution_is_part,
              fmt::format("{} is part of {} and works on its branch", execution.execution_id.text(), parent),
              fmt::format("reeve flow {} {}", command, parent));
}

// Calls `act` with the record of the path, if it exists.
template <class Act>
void with_execution(SharedExchange exchange, Act act) {
  exchange->daemon.queries().get_execution(exchange->execution_id(), store::NodeDetail::none,
                                           [exchange, act](const std::expected<Execution, Error>& execution) {
                                             exchange->go_on([&] {
                                               if (!execution) throw execution.error();
                                               act(*execution);
                                             });
                                           });
}

void diff(SharedExchange exchange) {
  with_execution(exchange, [exchange](const Execution& execution) {
    refuse_part(execution, "diff");
    const base::ExecutionId id = execution.execution_id;
    exchange->daemon.isolation().diff(
        id, [exchange, id](const std::expected<std::optional<Isolation::BranchDiff>, Error>& found) {
          if (!found) return exchange->refuse(found.error());
          ExecutionDiff document{.execution_id = id};
          if (*found) {
            document = {.execution_id = id,
                        .branch = (*found)->branch,
                        .base_commit = (*found)->base_commit,
                        .commit = (*found)->commit,
                        .files = (*found)->files,
                        .diff = (*found)->diff,
                        .is_cut = (*found)->is_cut};
          }
          exchange->send(200, json::to_value(document));
        });
  });
}

void send_applied(const SharedExchange& exchange, base::ExecutionId id, const Isolation::Applied& applied) {
  using Kind = Isolation::Applied::Kind;
  if (applied.kind == Kind::held) {
    return exchange->refuse(
        Error(ErrorCode::patch_gate_refused, applied.message,
              fmt::format("fix what the gate reports, then run `reeve flow apply {}` again", id.text())));
  }
  // Its changes wait, but an earlier answer keeps them on the branch.
  const bool is_kept = applied.kind == Kind::nothing && applied.waits;
  if (applied.kind == Kind::refused || is_kept) {
    return exchange->refuse(Error(ErrorCode::patch_not_applied, applied.message));
  }
  const ApplyOutcome outcome = applied.kind == Kind::applied ? ApplyOutcome::applied
                               : applied.kind == Kind::asked ? ApplyOutcome::asked
                                                             : ApplyOutcome::nothing;
  exchange->send(200, json::to_value(AppliedExecution{.execution_id = id,
                                                      .outcome = outcome,
                                                      .message = applied.message,
                                                      .commit = applied.commit,
                                                      .approval_id = applied.approval}));
}

// APR-11: a run cannot decide about its own changes.
void apply(SharedExchange exchange) {
  deny_in_run_caller(exchange, fmt::format("apply {}", exchange->execution_id().text()));
  with_execution(exchange, [exchange](const Execution& execution) {
    refuse_part(execution, "apply");
    const base::ExecutionId id = execution.execution_id;
    if (execution.status != model::ExecutionStatus::completed) {
      throw Error(ErrorCode::execution_not_completed,
                  fmt::format("{} is {}: only a completed execution is applied as a whole. Nothing changed.", id.text(),
                              base::spell(execution.status)),
                  model::is_over(execution.status)
                      ? fmt::format("reeve patch list {}, then reeve patch apply", id.text())
                      : fmt::format("reeve wait {}", id.text()));
    }
    exchange->daemon.isolation().apply_ended(id,
                                             [exchange, id](const std::expected<Isolation::Applied, Error>& applied) {
                                               if (!applied) return exchange->refuse(applied.error());
                                               send_applied(exchange, id, *applied);
                                             });
  });
}

}  // namespace

std::vector<Operation> execution_change_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/executions/{id}/diff",
           .handle = diff,
           .name = "getExecutionDiff",
           .inside = InRunAccess::refused,
           .summary = "Get everything that the execution has changed, as one diff against the commit it started at",
           .replies = {{200, schemas.of<ExecutionDiff>()}},
           .errors = {ErrorCode::execution_not_found, ErrorCode::execution_is_part, ErrorCode::git_not_a_repository,
                      ErrorCode::git_busy}},
          {.method = "POST",
           .path = "/api/executions/{id}/apply",
           .handle = apply,
           .name = "applyExecution",
           .inside = InRunAccess::reported,
           .summary = "Apply all changes of a completed execution to the user's checkout; repeating it changes nothing",
           .scope = Scope::approve,
           .body = json::object_schema({}, {}),
           .replies = {{200, schemas.of<AppliedExecution>()}},
           .errors = {ErrorCode::execution_not_found, ErrorCode::execution_is_part, ErrorCode::execution_not_completed,
                      ErrorCode::patch_gate_refused, ErrorCode::patch_not_applied, ErrorCode::git_dirty,
                      ErrorCode::git_moved, ErrorCode::git_branch_in_use, ErrorCode::git_elsewhere,
                      ErrorCode::git_not_a_repository, ErrorCode::git_checkout_busy, ErrorCode::git_busy,
                      ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
