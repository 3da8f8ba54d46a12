#include "server/access/access.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::server {

using model::Scope;

std::optional<Scope> needed_scope(const Operation& operation) noexcept {
  // Liveness check, and sign-in of a browser that has a code.
  if (operation.path == "/healthz" || operation.path == "/sign-in") return std::nullopt;
  return operation.scope;
}

void require_access(const Request& request, const Operation* operation) {
  if (request.peer.entrance == Entrance::unix_socket) return;
  const std::optional<Scope> scope = operation != nullptr ? needed_scope(*operation) : Scope::admin;
  if (!scope || model::allows(request.caller.scopes, *scope)) return;
  throw base::Error(
      base::ErrorCode::api_forbidden, fmt::format("{} lacks the scope `{}`", request.caller.name, base::spell(*scope)),
      fmt::format("use a token with that scope: reeve token create NAME --scope {}", base::spell(*scope)));
}

}  // namespace reeve::server
