#pragma once

#include "base/value.h"
#include "runtime/approvals/caller_progress.h"
#include "server/request/exchange.h"

namespace reeve::server {

// The report of a request from outside of runs: {percent?, message?, project?}. Without `project`: that of the token,
// or of the daemon. Throws `api.bad_request`, `api.forbidden` if the caller may not name the project.
runtime::ProgressReport parse_progress(const Exchange& exchange, const base::Value& body);
// The schema of such a body.
base::Value progress_schema();

}  // namespace reeve::server
