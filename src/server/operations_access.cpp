#include "server/operations.h"

// Who may come in at the port: tokens and browsers, as it is promised.
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
          .inside = Inside::reported,
          .summary = "It lets nobody in any more; its name is not given again",
          .scope = Scope::admin,
          .body = method == "POST" ? json::object_schema({}, {}) : Value(),
          .replies = {{200, token}},
          .errors = {"token.not_found", "approval.inside_run", "api.peer_gone"},
          .keeping = Keeping::answer};
}

std::vector<Operation> browser_operations() {
  const Value text = json::string_schema();
  const Value link =
      json::object_schema({{"url", text}, {"address", text}, {"expires_at", text}}, {"url", "address", "expires_at"});
  return {{.method = "POST",
           .path = "/api/web",
           .name = "openForBrowser",
           .inside = Inside::reported,
           .summary = "A link that lets a browser in, once; a port on loopback is opened where there is none",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{201, link}},
           .errors = {"approval.inside_run", "api.peer_gone"},
           // The link lets in whoever has it: nowhere but in memory.
           .keeping = Keeping::memory},
          {.method = "GET",
           .path = "/sign-in",
           .name = "signIn",
           .inside = Inside::anyone,
           .summary = "Lets a browser in that has a link; at the port, without a credential",
           .query = {text_parameter("code", "of the link")},
           .replies = {{303, text, "text/plain"}},
           .errors = {"api.bad_code"}},
          {.method = "POST",
           .path = "/api/sign-out",
           .name = "signOut",
           .inside = Inside::anyone,
           .summary = "Ends the session of the browser that asks",
           .body = json::object_schema({}, {}),
           .replies = {{200, json::object_schema({}, {})}},
           .keeping = Keeping::memory},
          {.method = "GET",
           .path = "/",
           .name = "welcome",
           .inside = Inside::anyone,
           .summary = "A word to one who is in",
           .replies = {{200, text, "text/plain"}}}};
}

}  // namespace

std::vector<Operation> access_operations(json::Schemas& schemas) {
  const Value token = schemas.add("Token", token_schema(schemas, Secrecy::without_secret));
  const Value wish = json::object_schema({{"name", json::string_schema()},
                                          {"scopes", schemas.of<std::optional<std::vector<Scope>>>()},
                                          {"expires_in", schemas.of<std::optional<std::string>>()}},
                                         {"name"});
  std::vector<Operation> made = {
      {.method = "GET",
       .path = "/api/tokens",
       .name = "listTokens",
       .inside = Inside::refused,
       .summary = "Tokens, also those that are over, newest first, without their secrets",
       .scope = Scope::admin,
       .query = {limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "TokenPage", token)}}},
      {.method = "POST",
       .path = "/api/tokens",
       .name = "createToken",
       .inside = Inside::reported,
       .summary = "A new one. `token` is its secret, told here and never again",
       .scope = Scope::admin,
       .body = schemas.add("TokenWish", wish),
       .replies = {{201, schemas.add("NewToken", token_schema(schemas, Secrecy::with_secret))}},
       .errors = {"token.already_exists", "token.too_many", "approval.inside_run", "api.peer_gone"},
       // A secret is stored nowhere.
       .keeping = Keeping::memory},
      revocation("POST", "/api/tokens/{name}/revoke", "revokeToken", token),
      revocation("DELETE", "/api/tokens/{name}", "deleteToken", token),
      {.method = "POST",
       .path = "/api/daemon/token",
       .name = "renewOwnToken",
       .inside = Inside::reported,
       .summary = "Another token in `http.token` of the state folder; the one before lets nobody in any more",
       .scope = Scope::admin,
       .body = json::object_schema({}, {}),
       .replies = {{200, json::object_schema({{"file", json::string_schema()}}, {"file"})}},
       .errors = {"approval.inside_run", "api.peer_gone"},
       .keeping = Keeping::memory}};
  for (Operation& operation : browser_operations()) made.push_back(std::move(operation));
  return made;
}

}  // namespace reeve::server
