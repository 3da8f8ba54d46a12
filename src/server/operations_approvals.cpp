#include "model/approval.h"
#include "server/operations.h"

// /api/approvals as it is promised.
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
          .inside = Inside::reported,
          .summary = summary,
          .scope = Scope::approve,
          .body = std::move(body),
          .replies = {{200, approval}},
          .errors = {"approval.not_found", "approval.already_resolved", "approval.expired", "approval.unknown_choice",
                     "approval.choice_needed", "approval.contradiction", "approval.secret_needed",
                     "approval.inside_run", "api.peer_gone", "run.not_here"},
          .keeping = Keeping::change_then_answer};
}

}  // namespace

std::vector<Operation> approval_operations(json::Schemas& schemas) {
  const Value approval = schemas.of<model::Approval>();
  return {
      {.method = "GET",
       .path = "/api/approvals",
       .name = "listApprovals",
       .inside = Inside::own_approvals,
       .summary = "Those that wait, oldest first (PIP-5); any other selection newest first",
       .query = {words_parameter("status", base::spellings<model::ApprovalStatus>(), "only those"),
                 flag_parameter("include_all", "1: of every status"),
                 flag_parameter("all", "the same as include_all"),
                 {"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only those of that run"},
                 limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "ApprovalPage", approval)}}},
      {.method = "GET",
       .path = "/api/approvals/{id}",
       .name = "getApproval",
       .inside = Inside::own_approval,
       .summary = "One approval",
       .replies = {{200, approval}},
       .errors = {"approval.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/approvals/{id}/wait",
       .name = "waitForApproval",
       .inside = Inside::own_approval,
       .summary = "The approval when it is decided or has expired, or as it is when the time is over",
       .query = {duration_parameter("timeout", "at most 5m; 60s when nothing is said")},
       .replies = {{200, approval}},
       .errors = {"approval.not_found"}},
      decide("/api/approvals/{id}/approve", "approve", "Yes; with `choice` where several options approve", approval),
      decide("/api/approvals/{id}/reject", "reject", "No", approval),
      decide("/api/approvals/{id}/deny", "deny", "The same as reject", approval),
      decide("/api/approvals/{id}/decide", "decide", "One of the options, by its value: `choice`", approval)};
}

}  // namespace reeve::server
