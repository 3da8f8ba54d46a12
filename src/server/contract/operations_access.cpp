#include "server/contract/operations.h"

// Contract of tokens and browser sign-in.
namespace reeve::server {

using base::Value;

namespace {

enum class Secrecy { without_secret, with_secret };

Value token_schema(json::Schemas& schemas, Secrecy secrecy) {
  const Value time = schemas.of<std::optional<base::WallTime>>();
  Value::Object members = {{"name", json::string_schema()},
                           {"scopes", schemas.of<std::vector<Scope>>()},
                           {"created_at", schemas.of<base::WallTime>()},
                           {"created_by", json::string_schema()},
                           {"expires_at", time},
                           {"last_used_at", time},
                           {"revoked_at", time},
                           {"status", json::word_schema({"active", "expired", "revoked"})}};
  std::vector<std::string> needed = {"name",       "scopes",       "created_at", "created_by",
                                     "expires_at", "last_used_at", "revoked_at", "status"};
  if (secrecy == Secrecy::with_secret) {
    members.push_back({"token", json::string_schema("^reeve_")});
    needed.emplace_back("token");
  }
  return json::object_schema(std::move(members), needed);
}

Operation revocation(std::string_view method, std::string_view path, std::string_view name, const Value& token) {
  return {.method = method,
          .path = path,
          .name = name,
          .inside = InRunAccess::reported,
          .summary = "Revoke a token; its name is never reused",
          .scope = Scope::admin,
          .body = method == "POST" ? json::object_schema({}, {}) : Value(),
          .replies = {{200, token}},
          .errors = {"token.not_found", "approval.inside_run", "api.peer_gone"},
          .idempotency = IdempotencyMode::answer};
}

std::vector<Operation> browser_operations() {
  const Value text = json::string_schema();
  const Value link =
      json::object_schema({{"url", text}, {"address", text}, {"expires_at", text}}, {"url", "address", "expires_at"});
  return {{.method = "POST",
           .path = "/api/web",
           .name = "openForBrowser",
           .inside = InRunAccess::reported,
           .summary = "Create a one-time sign-in link for a browser; opens a loopback port if none is open",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{201, link}},
           .errors = {"approval.inside_run", "api.peer_gone"},
           // The link is a credential, so it is kept only in memory.
           .idempotency = IdempotencyMode::memory},
          {.method = "GET",
           .path = "/sign-in",
           .name = "signIn",
           .inside = InRunAccess::anyone,
           .summary = "Sign a browser in with a one-time link; TCP port only, no credential needed",
           .query = {text_parameter("code", "the code from the link")},
           .replies = {{303, text, "text/plain"}},
           .errors = {"api.bad_code"}},
          {.method = "POST",
           .path = "/api/sign-out",
           .name = "signOut",
           .inside = InRunAccess::anyone,
           .summary = "End the calling browser's session",
           .body = json::object_schema({}, {}),
           .replies = {{200, json::object_schema({}, {})}},
           .idempotency = IdempotencyMode::memory},
          {.method = "GET",
           .path = "/",
           .name = "welcome",
           .inside = InRunAccess::anyone,
           .summary = "Greet a signed-in client",
           .replies = {{200, text, "text/plain"}}}};
}

}  // namespace

std::vector<Operation> access_operations(json::Schemas& schemas) {
  const Value token = schemas.add("Token", token_schema(schemas, Secrecy::without_secret));
  const Value asked_for = json::object_schema({{"name", json::string_schema()},
                                               {"scopes", schemas.of<std::optional<std::vector<Scope>>>()},
                                               {"expires_in", schemas.of<std::optional<std::string>>()}},
                                              {"name"});
  std::vector<Operation> made = {
      {.method = "GET",
       .path = "/api/tokens",
       .name = "listTokens",
       .inside = InRunAccess::refused,
       .summary = "List tokens, including expired and revoked ones, newest first, without secrets",
       .scope = Scope::admin,
       .query = {limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "TokenPage", token)}}},
      {.method = "POST",
       .path = "/api/tokens",
       .name = "createToken",
       .inside = InRunAccess::reported,
       .summary = "Create a token. `token` is its secret, returned only in this response",
       .scope = Scope::admin,
       .body = schemas.add("TokenRequest", asked_for),
       .replies = {{201, schemas.add("NewToken", token_schema(schemas, Secrecy::with_secret))}},
       .errors = {"token.already_exists", "token.too_many", "approval.inside_run", "api.peer_gone"},
       // Secrets are never stored.
       .idempotency = IdempotencyMode::memory},
      revocation("POST", "/api/tokens/{name}/revoke", "revokeToken", token),
      revocation("DELETE", "/api/tokens/{name}", "deleteToken", token),
      {.method = "POST",
       .path = "/api/daemon/token",
       .name = "renewOwnToken",
       .inside = InRunAccess::reported,
       .summary = "Replace the token in `http.token` of the state folder; the previous one is revoked",
       .scope = Scope::admin,
       .body = json::object_schema({}, {}),
       .replies = {{200, json::object_schema({{"file", json::string_schema()}}, {"file"})}},
       .errors = {"approval.inside_run", "api.peer_gone"},
       .idempotency = IdempotencyMode::memory}};
  for (Operation& operation : browser_operations()) made.push_back(std::move(operation));
  return made;
}

}  // namespace reeve::server
