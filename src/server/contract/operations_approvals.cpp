#include "model/approval.h"
#include "server/contract/operations.h"

// Contract of /api/approvals.
namespace reeve::server {

namespace {

using base::Value;

Value text_of(std::int64_t longest) {
  return json::extended(json::string_schema(), "maxLength", Value::integer(longest));
}

Operation decide(std::string_view path, std::string_view name, std::string_view summary, const Value& approval) {
  Value body = optional_members({{"choice", text_of(1'024)},
                                 {"comment", text_of(4'096)},
                                 {"secret", text_of(4'096)},
                                 {"decided_by", text_of(255)}});
  return {.method = "POST",
          .path = path,
          .name = name,
          .inside = InRunAccess::reported,
          .summary = summary,
          .scope = Scope::approve,
          .body = std::move(body),
          .replies = {{200, approval}},
          .errors = {"approval.not_found", "approval.already_resolved", "approval.expired", "approval.unknown_choice",
                     "approval.choice_needed", "approval.contradiction", "approval.secret_needed",
                     "approval.inside_run", "api.peer_gone", "run.not_here"},
          .idempotency = IdempotencyMode::change_then_answer};
}

}  // namespace

std::vector<Operation> approval_operations(json::Schemas& schemas) {
  const Value approval = schemas.of<model::Approval>();
  return {
      {.method = "GET",
       .path = "/api/approvals",
       .name = "listApprovals",
       .inside = InRunAccess::own_approvals,
       .summary = "List pending approvals, oldest first (PIP-5); other selections are newest first",
       .query = {words_parameter("status", base::spellings<model::ApprovalStatus>(),
                                 "only approvals with these statuses"),
                 flag_parameter("include_all", "1: approvals of every status"),
                 flag_parameter("all", "same as include_all"),
                 {"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only approvals of this run"},
                 limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "ApprovalPage", approval)}}},
      {.method = "GET",
       .path = "/api/approvals/{id}",
       .name = "getApproval",
       .inside = InRunAccess::own_approval,
       .summary = "Get an approval",
       .replies = {{200, approval}},
       .errors = {"approval.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/approvals/{id}/wait",
       .name = "waitForApproval",
       .inside = InRunAccess::own_approval,
       .summary = "Wait until the approval is decided or expires, or `timeout` passes; returns it either way",
       .query = {duration_parameter("timeout", "default 60s, at most 5m")},
       .replies = {{200, approval}},
       .errors = {"approval.not_found"}},
      decide("/api/approvals/{id}/approve", "approve", "Approve; `choice` selects one if several options approve",
             approval),
      decide("/api/approvals/{id}/reject", "reject", "Reject", approval),
      decide("/api/approvals/{id}/deny", "deny", "Same as reject", approval),
      decide("/api/approvals/{id}/decide", "decide", "Choose one of the options by its value (`choice`)", approval)};
}

}  // namespace reeve::server
