#pragma once

#include <optional>

#include "model/token.h"
#include "server/contract/operations.h"
#include "server/http/http.h"

// The `scope` that each operation requires of its caller.
namespace reeve::server {

// Nothing if the operation is open to all, without a credential.
std::optional<model::Scope> needed_scope(const Operation& operation) noexcept;

// Throws `api.forbidden` if the caller lacks the scope. The owner of the unix socket may do everything; an undescribed
// route (nullptr) requires `admin`.
void require_access(const Request& request, const Operation* operation);

}  // namespace reeve::server
