#include "store/tokens.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/quantity.h"
#include "base/text.h"
#include "json/describe.h"
#include "os/user.h"
#include "runtime/store_task.h"
#include "server/api.h"
#include "server/front.h"
#include "server/insider.h"
#include "server/listing.h"
#include "server/secret.h"

// /api/tokens
namespace reeve::server {

namespace {

using base::Error;
using base::Value;
using model::Token;

constexpr std::int64_t most_tokens = 1'000;
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
    throw Error("api.bad_request", "`cursor` is none that was given out");
  }
  const std::int64_t asked = exchange->query_integer("limit", listed_by_default, 1, most_listed);
  // One more than asked for tells whether there are more.
  filter.most = asked + 1;
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [filter, asked](ledger::Transaction& transaction) {
        std::vector<Token> tokens = store::list_tokens(transaction.session(), filter);
        const bool has_more = static_cast<std::int64_t>(tokens.size()) > asked;
        if (has_more) tokens.pop_back();
        Value document = Value::object();
        document.set("next_cursor", has_more ? Value::string(tokens.back().name) : Value());
        Value::Array items;
        for (const Token& token : tokens) items.push_back(record_of(token, transaction.now()));
        document.set("items", Value::array(std::move(items)));
        return document;
      },
      [exchange](std::expected<Value, Error> page) {
        if (!page) return exchange->refuse(page.error());
        exchange->send(200, *page);
      });
}

std::vector<model::Scope> parse_scopes(const Value& body) {
  const Value* found = body.find("scopes");
  if (found == nullptr || found->is_null()) return {model::Scope::read};
  const std::string allowed = fmt::format("scopes are {}", fmt::join(base::spellings<model::Scope>(), ", "));
  const Value::Array* words = found->as_array();
  if (words == nullptr || words->empty()) throw Error("api.bad_request", "`scopes` must be a list of words", allowed);
  std::vector<model::Scope> scopes;
  for (const Value& word : *words) {
    const auto scope = word.as_string() != nullptr ? base::find_enum<model::Scope>(*word.as_string()) : std::nullopt;
    if (!scope) throw Error("api.bad_request", "there is no such scope", allowed);
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
    throw Error("api.bad_request", fmt::format("`expires_in` must be {}, and at most ten years", base::duration_forms));
  }
  return life;
}

struct Wish {
  Token token;
  std::optional<base::Milliseconds> life;
  std::string hash;
};

Token create_token(ledger::Transaction& transaction, Wish wish) {
  store::Session& session = transaction.session();
  Token& token = wish.token;
  if (const auto other = store::find_token(session, token.name)) {
    throw Error(
        "token.already_exists",
        fmt::format("there is a token {} already{}", base::quoted(token.name), other->revoked_at ? ", revoked" : ""),
        "a name is given once, so that it is always the same who is meant: choose another");
  }
  if (store::count_tokens(session) >= most_tokens) {
    throw Error("token.too_many", fmt::format("there are {} tokens already", most_tokens),
                "use those there are; more are not kept");
  }
  token.created_at = transaction.now();
  if (wish.life) token.expires_at = token.created_at + *wish.life;
  store::insert_token(session, token, wish.hash);
  Value data = Value::object();
  data.set("name", Value::string(token.name));
  data.set("scopes", json::to_value(token.scopes));
  data.set("expires_at", json::to_value(token.expires_at));
  transaction.record(model::AuditKind::token_created, token.created_by, data);
  return token;
}

void create(SharedExchange exchange) {
  refuse_insider(exchange, "make a token");
  const Value& body = exchange->body();
  const std::string name = find_text(body, "name", longest_name).value_or("");
  if (!model::is_token_name(name)) {
    throw Error("api.bad_request", fmt::format("{} is no name for a token", base::quoted(name)),
                "up to 64 letters, digits and . _ @ -, beginning with a letter or digit; no id");
  }
  // Who decides is told by name alone (APR-12): a token is never taken for somebody who sits at the machine.
  if (os::is_person(name)) {
    throw Error("api.bad_request", fmt::format("{} is the name of a user of this machine", base::quoted(name)),
                fmt::format("name it after what uses it: {}-laptop", name));
  }
  const std::string secret = std::string(token_prefix) + make_secret();
  Wish wish{.token = {.name = name, .scopes = parse_scopes(body), .created_by = exchange->actor()},
            .life = parse_life(body),
            .hash = base::sha256_hex(secret)};
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [wish](ledger::Transaction& transaction) { return create_token(transaction, wish); },
      [exchange, secret](std::expected<Token, Error> token) {
        if (!token) return exchange->refuse(token.error());
        Value record = record_of(*token, token->created_at);
        // Here and never again.
        record.set("token", Value::string(secret));
        exchange->send(201, record);
      });
}

void revoke(SharedExchange exchange) {
  const std::string name = exchange->parts.at(0);
  refuse_insider(exchange, "revoke a token");
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [name, actor = exchange->actor()](ledger::Transaction& transaction) {
        store::Session& session = transaction.session();
        auto token = model::is_token_name(name) ? store::find_token(session, name) : std::nullopt;
        if (!token) {
          throw Error("token.not_found", fmt::format("there is no token {}", base::quoted(name)),
                      "`reeve token list` shows those there are");
        }
        // Again: as it is.
        if (!token->revoked_at) {
          store::write_token_revoked(session, name, transaction.now_text());
          token->revoked_at = transaction.now();
          Value data = Value::object();
          data.set("name", Value::string(name));
          transaction.record(model::AuditKind::token_revoked, actor, data);
        }
        return record_of(*token, transaction.now());
      },
      [exchange, name](std::expected<Value, Error> record) {
        if (!record) return exchange->refuse(record.error());
        if (exchange->front != nullptr) exchange->front->forget_token(name);
        exchange->send(200, *record);
      });
}

// The daemon's own has no name to revoke: another takes its place, in the file of those who may read it.
void renew_own(SharedExchange exchange) {
  refuse_insider(exchange, "renew the daemon's own token");
  if (exchange->front == nullptr) throw Error("api.no_route", "this daemon has no door to TCP");
  const std::string file = exchange->daemon.options().folder.http_token().string();
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [actor = exchange->actor()](ledger::Transaction& transaction) {
        Value data = Value::object();
        data.set("name", Value::string("http.token"));
        data.set("renewed", Value::boolean(true));
        transaction.record(model::AuditKind::token_revoked, actor, data);
      },
      [exchange, file](const std::expected<void, Error>& recorded) {
        if (!recorded) return exchange->refuse(recorded.error());
        exchange->go_on([&] {
          exchange->front->renew_own_token();
          Value document = Value::object();
          document.set("file", Value::string(base::replace_invalid_utf8(file)));
          exchange->send(200, document);
        });
      });
}

}  // namespace

std::vector<Route> token_routes() {
  return {{"GET", "/api/tokens", list},
          {"POST", "/api/tokens", create},
          {"DELETE", "/api/tokens/*", revoke},
          {"POST", "/api/tokens/*/revoke", revoke},
          {"POST", "/api/daemon/token", renew_own}};
}

}  // namespace reeve::server
