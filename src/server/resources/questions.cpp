#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/question_body.h"

// /api/questions: programs outside of runs ask a person. The answer is read like that of any approval.
namespace reeve::server {

namespace {

using base::ErrorCode;

void ask(SharedExchange exchange) {
  exchange->daemon.caller_questions().ask(parse_question(*exchange, exchange->body()), exchange->key,
                                          [exchange](const std::expected<ledger::CallerAsked, base::Error>& asked) {
                                            if (!asked) return exchange->refuse(asked.error());
                                            exchange->send(asked->is_new ? 201 : 200, json::to_value(asked->approval));
                                          });
}

}  // namespace

std::vector<Operation> question_operations(json::Schemas& schemas) {
  const base::Value approval = schemas.of<model::Approval>();
  return {{.method = "POST",
           .path = "/api/questions",
           .handle = ask,
           .name = "askQuestion",
           .inside = InRunAccess::refused,
           .summary = "Ask a person, outside of any run (a tool asks on its run's socket). With the `reference` of an "
                      "earlier question: 200 and its approval. Wait for the answer with /api/approvals/{id}/wait",
           .scope = Scope::operate,
           .body = question_schema(),
           .replies = {{201, approval}, {200, approval}},
           .errors = {ErrorCode::approval_not_found, ErrorCode::approval_too_many, ErrorCode::approval_reference_used,
                      ErrorCode::config_invalid},
           .idempotency = IdempotencyMode::change_then_answer}};
}

}  // namespace reeve::server
