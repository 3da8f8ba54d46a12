#include "server/access.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::server {

using model::Scope;

std::optional<Scope> needed_scope(const Operation& operation) noexcept {
  // Says that the daemon lives, and lets a browser with a code in.
  if (operation.path == "/healthz" || operation.path == "/sign-in") return std::nullopt;
  return operation.scope;
}

void require_access(const Request& request, const Operation* operation) {
  if (request.peer.entrance == Entrance::unix_socket) return;
  const std::optional<Scope> scope = operation != nullptr ? needed_scope(*operation) : Scope::admin;
  if (!scope || model::allows(request.caller.scopes, *scope)) return;
  throw base::Error(
      "api.forbidden",
      fmt::format("{} may not do this: it needs the scope `{}`", request.caller.name, base::spell(*scope)),
      fmt::format("use a token that has it: reeve token create NAME --scope {}", base::spell(*scope)));
}

}  // namespace reeve::server
