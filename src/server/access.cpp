#include "server/access.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::server {

namespace {

using model::Scope;

struct Row {
  std::string_view method;
  std::string_view pattern;
  std::optional<Scope> scope;
};

constexpr auto table = std::to_array<Row>({
    // Says that the daemon lives, and lets a browser with a code in: without a credential.
    {"GET", "/healthz", std::nullopt},
    {"GET", "/sign-in", std::nullopt},

    {"POST", "/api/runs", Scope::operate},
    {"POST", "/api/runs/*/cancel", Scope::operate},
    {"POST", "/api/runs/*/input", Scope::operate},
    {"POST", "/api/runs/*/resize", Scope::operate},
    {"POST", "/api/runs/*/signal", Scope::operate},
    {"POST", "/api/executions", Scope::operate},
    {"POST", "/api/executions/*/cancel", Scope::operate},
    {"POST", "/api/executions/*/retry", Scope::operate},
    {"POST", "/api/pipelines", Scope::operate},
    {"POST", "/api/pipelines/*/abort", Scope::operate},
    {"POST", "/api/patches/*/apply", Scope::operate},
    {"POST", "/api/patches/*/drop", Scope::operate},
    {"POST", "/api/patches/*/rollback", Scope::operate},

    {"POST", "/api/approvals/*/approve", Scope::approve},
    {"POST", "/api/approvals/*/reject", Scope::approve},
    {"POST", "/api/approvals/*/decide", Scope::approve},
    {"POST", "/api/pipelines/*/approve", Scope::approve},
    {"POST", "/api/pipelines/*/reject", Scope::approve},

    // They change nothing; what is asked about is too long for a target.
    {"POST", "/api/workflows/validate", Scope::read},
    {"POST", "/api/workflows/graph", Scope::read},
    {"POST", "/api/policy/check", Scope::read},
    // Its own session alone.
    {"POST", "/api/sign-out", Scope::read},

    {"POST", "/api/daemon/stop", Scope::admin},
    {"POST", "/api/web", Scope::admin},
    {"GET", "/api/tokens", Scope::admin},
    {"POST", "/api/tokens", Scope::admin},
    {"DELETE", "/api/tokens/*", Scope::admin},
    {"POST", "/api/tokens/*/revoke", Scope::admin},
});

}  // namespace

std::optional<Access> access_of(std::string_view method, std::string_view pattern) noexcept {
  const auto found =
      std::ranges::find_if(table, [&](const Row& row) { return row.method == method && row.pattern == pattern; });
  if (found != table.end()) return Access{found->scope};
  if (method == "GET") return Access{Scope::read};
  return std::nullopt;
}

void require_access(const Request& request, std::string_view pattern) {
  if (request.peer.entrance == Entrance::unix_socket) return;
  // What nobody has thought of is for those who may do everything.
  const Access access = access_of(request.method, pattern).value_or(Access{Scope::admin});
  if (!access.scope || model::allows(request.caller.scopes, *access.scope)) return;
  throw base::Error(
      "api.forbidden",
      fmt::format("{} may not do this: it needs the scope `{}`", request.caller.name, base::spell(*access.scope)),
      fmt::format("use a token that has it: reeve token create NAME --scope {}", base::spell(*access.scope)));
}

}  // namespace reeve::server
