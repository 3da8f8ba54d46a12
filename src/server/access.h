#pragma once

#include <optional>

#include "model/token.h"
#include "server/http.h"
#include "server/operations.h"

// What a caller needs for each request: `scope` of the operation.
namespace reeve::server {

// Nothing: open to all, without a credential.
std::optional<model::Scope> needed_scope(const Operation& operation) noexcept;

// Throws `api.forbidden` when the caller may not do that. The owner of the unix socket may do all; what is not
// described (nullptr) is for those who may do everything.
void require_access(const Request& request, const Operation* operation);

}  // namespace reeve::server
