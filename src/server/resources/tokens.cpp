#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "os/user.h"
#include "server/access/in_run_caller.h"
#include "server/access/secret.h"
#include "server/access/tcp_endpoint.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/own_project.h"

// /api/tokens
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Token;

constexpr auto longest_life = std::chrono::hours(24 * 3'650);

Value record_of(const Token& token, base::WallTime now) {
  Value record = json::to_value(token);
  const bool is_over = token.expires_at && *token.expires_at <= now;
  record.set("status", Value::string(token.revoked_at ? "revoked" : is_over ? "expired" : "active"));
  return record;
}

void list(SharedExchange exchange) {
  store::TokenFilter filter{.before = exchange->query("cursor").value_or("")};
  if (!filter.before.empty() && !model::is_token_name(filter.before)) {
    throw Error(ErrorCode::api_bad_request, "invalid `cursor`");
  }
  const std::int64_t asked = exchange->query_integer("limit", listed_by_default, 1, max_listed);
  // Fetches one more than requested, to know whether there are more.
  filter.most = asked + 1;
  exchange->daemon.tokens().list(filter, [exchange, asked](std::expected<runtime::Tokens::Listed, Error> listed) {
    if (!listed) return exchange->refuse(listed.error());
    std::vector<Token>& tokens = listed->tokens;
    const bool has_more = static_cast<std::int64_t>(tokens.size()) > asked;
    if (has_more) tokens.pop_back();
    Value document = Value::object();
    document.set("next_cursor", has_more ? Value::string(tokens.back().name) : Value());
    Value::Array items;
    for (const Token& token : tokens) items.push_back(record_of(token, listed->now));
    document.set("items", Value::array(std::move(items)));
    exchange->send(200, document);
  });
}

std::vector<model::Scope> parse_scopes(const Value& body) {
  const Value* found = body.find("scopes");
  if (found == nullptr || found->is_null()) return {model::Scope::read};
  const std::string allowed = fmt::format("valid scopes: {}", fmt::join(base::spellings<model::Scope>(), ", "));
  const Value::Array* words = found->as_array();
  if (words == nullptr || words->empty()) {
    throw Error(ErrorCode::api_bad_request, "`scopes` must be a list of words", allowed);
  }
  std::vector<model::Scope> scopes;
  for (const Value& word : *words) {
    const auto scope = word.as_string() != nullptr ? base::find_enum<model::Scope>(*word.as_string()) : std::nullopt;
    if (!scope) throw Error(ErrorCode::api_bad_request, "unknown scope", allowed);
    if (std::ranges::find(scopes, *scope) == scopes.end()) scopes.push_back(*scope);
  }
  std::ranges::sort(scopes);
  return scopes;
}

std::optional<base::Milliseconds> parse_life(const Value& body) {
  const auto text = find_text(body, "expires_in", longest_name);
  if (!text) return std::nullopt;
  const auto life = base::parse_duration(*text);
  if (!life || life->count() <= 0 || *life > longest_life) {
    throw Error(ErrorCode::api_bad_request,
                fmt::format("`expires_in` must be {}, and at most ten years", base::duration_forms));
  }
  return life;
}

std::optional<std::string> parse_project(const Value& body) {
  const auto path = find_text(body, "project", longest_text);
  if (!path) return std::nullopt;
  if (!path->starts_with('/')) {
    throw Error(ErrorCode::api_bad_request, "`project` must be the absolute path of a project",
                "`GET /api/projects` lists them");
  }
  std::error_code error;
  if (!std::filesystem::is_directory(*path, error)) {
    throw Error(ErrorCode::api_bad_request, fmt::format("{} is not a folder", base::quoted(*path)),
                "`project` is the absolute path of a project on the daemon's machine");
  }
  return name_project(*path);
}

void create(SharedExchange exchange) {
  deny_in_run_caller(exchange, "create a token");
  const Value& body = exchange->body();
  const std::string name = find_text(body, "name", longest_name).value_or("");
  if (!model::is_token_name(name)) {
    throw Error(ErrorCode::api_bad_request, fmt::format("{} is not a valid token name", base::quoted(name)),
                "up to 64 letters, digits and . _ @ -, starting with a letter or digit; not an id such as TR-1");
  }
  // Deciders are identified by name alone (APR-12), so a token must not look like a user of this machine.
  if (os::is_person(name)) {
    throw Error(ErrorCode::api_bad_request, fmt::format("{} is the name of a user on this machine", base::quoted(name)),
                fmt::format("name it after what uses it: {}-laptop", name));
  }
  const std::string secret = std::string(token_prefix) + make_secret();
  runtime::Tokens::Request request{.token = {.name = name,
                                             .scopes = parse_scopes(body),
                                             .created_by = exchange->actor(),
                                             .project = parse_project(body)},
                                   .life = parse_life(body),
                                   .hash = base::sha256_hex(secret)};
  if (request.token.project && model::allows(request.token.scopes, model::Scope::admin)) {
    throw Error(ErrorCode::api_bad_request, "a token that is limited to a project cannot have the scope `admin`",
                "leave out `project`, or use `operate` and `approve`");
  }
  exchange->daemon.tokens().create(std::move(request), [exchange, secret](const std::expected<Token, Error>& token) {
    if (!token) return exchange->refuse(token.error());
    Value record = record_of(*token, token->created_at);
    // Returned only here.
    record.set("token", Value::string(secret));
    exchange->send(201, record);
  });
}

void revoke(SharedExchange exchange) {
  const std::string name = exchange->parts.at(0);
  deny_in_run_caller(exchange, "revoke a token");
  exchange->daemon.tokens().revoke(name, exchange->actor(), [exchange, name](const std::expected<Token, Error>& token) {
    if (!token) return exchange->refuse(token.error());
    if (exchange->tcp_endpoint != nullptr) exchange->tcp_endpoint->forget_token(name);
    exchange->send(200, record_of(*token, *token->revoked_at));
  });
}

// The daemon's own token has no name to revoke: it is replaced in its file.
void renew_own(SharedExchange exchange) {
  deny_in_run_caller(exchange, "renew the daemon's own token");
  if (exchange->tcp_endpoint == nullptr) throw Error(ErrorCode::api_no_route, "this daemon has no TCP endpoint");
  const std::string file = exchange->daemon.options().folder.http_token().string();
  exchange->daemon.tokens().record_own_renewed(
      exchange->actor(), [exchange, file](const std::expected<void, Error>& recorded) {
        exchange->go_on([&] {
          if (!recorded) throw recorded.error();
          exchange->tcp_endpoint->renew_own_token();
          Value document = Value::object();
          document.set("file", Value::string(base::replace_invalid_utf8(file)));
          exchange->send(200, document);
        });
      });
}

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
                           {"project", schemas.of<std::optional<std::string>>()},
                           {"status", json::word_schema({"active", "expired", "revoked"})}};
  std::vector<std::string> needed = {"name",         "scopes",     "created_at", "created_by", "expires_at",
                                     "last_used_at", "revoked_at", "project",    "status"};
  if (secrecy == Secrecy::with_secret) {
    members.push_back({"token", json::string_schema("^reeve_")});
    needed.emplace_back("token");
  }
  return json::object_schema(std::move(members), needed);
}

Operation revocation(std::string_view method, std::string_view path, std::string_view name, const Value& token) {
  return {.method = method,
          .path = path,
          .handle = revoke,
          .name = name,
          .inside = InRunAccess::reported,
          .summary = "Revoke a token; its name is never reused",
          .scope = Scope::admin,
          .body = method == "POST" ? json::object_schema({}, {}) : Value(),
          .replies = {{200, token}},
          .errors = {ErrorCode::token_not_found, ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
          .idempotency = IdempotencyMode::answer};
}

}  // namespace

std::vector<Operation> token_operations(json::Schemas& schemas) {
  const Value token = schemas.add("Token", token_schema(schemas, Secrecy::without_secret));
  const Value asked_for = json::object_schema({{"name", json::string_schema()},
                                               {"scopes", schemas.of<std::optional<std::vector<Scope>>>()},
                                               {"expires_in", schemas.of<std::optional<std::string>>()},
                                               {"project", schemas.of<std::optional<std::string>>()}},
                                              {"name"});
  return {{.method = "GET",
           .path = "/api/tokens",
           .handle = list,
           .name = "listTokens",
           .inside = InRunAccess::refused,
           .summary = "List tokens, including expired and revoked ones, newest first, without secrets",
           .scope = Scope::admin,
           .query = {limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "TokenPage", token)}}},
          {.method = "POST",
           .path = "/api/tokens",
           .handle = create,
           .name = "createToken",
           .inside = InRunAccess::reported,
           .summary = "Create a token. `token` is its secret, returned only in this response",
           .scope = Scope::admin,
           .body = schemas.add("TokenRequest", asked_for),
           .replies = {{201, schemas.add("NewToken", token_schema(schemas, Secrecy::with_secret))}},
           .errors = {ErrorCode::token_already_exists, ErrorCode::token_too_many, ErrorCode::approval_inside_run,
                      ErrorCode::api_peer_gone},
           // Secrets are never stored.
           .idempotency = IdempotencyMode::memory},
          revocation("POST", "/api/tokens/{name}/revoke", "revokeToken", token),
          revocation("DELETE", "/api/tokens/{name}", "deleteToken", token),
          {.method = "POST",
           .path = "/api/daemon/token",
           .handle = renew_own,
           .name = "renewOwnToken",
           .inside = InRunAccess::reported,
           .summary = "Replace the token in `http.token` of the state folder; the previous one is revoked",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{200, json::object_schema({{"file", json::string_schema()}}, {"file"})}},
           .errors = {ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory}};
}

}  // namespace reeve::server
