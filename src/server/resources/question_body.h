#pragma once

#include "base/value.h"
#include "ledger/caller_questions.h"
#include "server/request/exchange.h"

namespace reeve::server {

// The question of a request from outside of runs: {question, options?, default?, project?, expires_in_seconds?,
// reference?}. Without `project`: that of the token, or of the daemon. Throws `api.bad_request`, `api.forbidden` if the
// caller may not name the project, `config.invalid`.
ledger::CallerQuestion parse_question(const Exchange& exchange, const base::Value& body);
// The schema of such a body.
base::Value question_schema();

}  // namespace reeve::server
