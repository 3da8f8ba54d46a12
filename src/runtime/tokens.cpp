#include "runtime/tokens.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using ledger::Transaction;
using model::Token;

constexpr std::int64_t max_tokens = 1'000;
constexpr std::chrono::minutes use_step{1};

Token insert(Transaction& transaction, Tokens::Request request) {
  store::Session& session = transaction.session();
  Token& token = request.token;
  if (const auto other = store::find_token(session, token.name)) {
    throw Error(
        ErrorCode::token_already_exists,
        fmt::format("the token {} already exists{}", base::quoted(token.name), other->revoked_at ? " (revoked)" : ""),
        "token names are never reused; choose another");
  }
  if (store::count_tokens(session) >= max_tokens) {
    throw Error(ErrorCode::token_too_many, fmt::format("the limit of {} tokens is reached", max_tokens),
                "use an existing token");
  }
  token.created_at = transaction.now();
  if (request.life) token.expires_at = token.created_at + *request.life;
  store::insert_token(session, token, request.hash);
  Value data = Value::object();
  data.set("name", Value::string(token.name));
  data.set("scopes", json::to_value(token.scopes));
  data.set("expires_at", json::to_value(token.expires_at));
  data.set("project", json::to_value(token.project));
  transaction.record(model::AuditKind::token_created, token.created_by, data);
  return token;
}

Token write_revoked(Transaction& transaction, const std::string& name, const std::string& actor) {
  store::Session& session = transaction.session();
  auto token = model::is_token_name(name) ? store::find_token(session, name) : std::nullopt;
  if (!token) {
    throw Error(ErrorCode::token_not_found, fmt::format("there is no token {}", base::quoted(name)),
                "`reeve token list` lists them");
  }
  if (!token->revoked_at) {
    store::write_token_revoked(session, name, transaction.now_text());
    token->revoked_at = transaction.now();
    Value data = Value::object();
    data.set("name", Value::string(name));
    transaction.record(model::AuditKind::token_revoked, actor, data);
  }
  return std::move(*token);
}

std::optional<Token> find_usable(Transaction& transaction, const std::string& hash) {
  auto token = store::find_token_by_hash(transaction.session(), hash);
  const bool is_usable = token && !token->revoked_at && !(token->expires_at && *token->expires_at <= transaction.now());
  return is_usable ? std::move(token) : std::nullopt;
}

}  // namespace

void Tokens::list(const store::TokenFilter& filter, Done<Listed> done) const {
  ask_store(
      ledger_, loop_,
      [filter](Transaction& transaction) {
        return Listed{store::list_tokens(transaction.session(), filter), transaction.now()};
      },
      std::move(done));
}

void Tokens::create(Request request, Done<Token> done) const {
  ask_store(
      ledger_, loop_, [request = std::move(request)](Transaction& transaction) { return insert(transaction, request); },
      std::move(done));
}

void Tokens::revoke(const std::string& name, const std::string& actor, Done<Token> done) const {
  ask_store(
      ledger_, loop_, [name, actor](Transaction& transaction) { return write_revoked(transaction, name, actor); },
      std::move(done));
}

void Tokens::use(const std::string& hash, Done<std::optional<Token>> done) const {
  ask_store(
      ledger_, loop_,
      [hash](Transaction& transaction) {
        auto token = find_usable(transaction, hash);
        const base::WallTime now = transaction.now();
        if (token && (!token->last_used_at || now - *token->last_used_at >= use_step)) {
          store::write_token_used(transaction.session(), hash, transaction.now_text());
        }
        return token;
      },
      std::move(done));
}

void Tokens::find_unusable(std::set<std::string> hashes, Done<std::set<std::string>> done) const {
  ask_store(
      ledger_, loop_,
      [hashes = std::move(hashes)](Transaction& transaction) {
        std::set<std::string> unusable;
        for (const std::string& hash : hashes) {
          if (!find_usable(transaction, hash)) unusable.insert(hash);
        }
        return unusable;
      },
      std::move(done));
}

void Tokens::record_own_renewed(const std::string& actor, Done<void> done) const {
  ask_store(
      ledger_, loop_,
      [actor](Transaction& transaction) {
        Value data = Value::object();
        data.set("name", Value::string("http.token"));
        data.set("renewed", Value::boolean(true));
        transaction.record(model::AuditKind::token_revoked, actor, data);
      },
      std::move(done));
}

void Tokens::record_sign_in(const std::string& name, const std::string& from, Done<void> done) const {
  ask_store(
      ledger_, loop_,
      [name, from](Transaction& transaction) {
        Value data = Value::object();
        data.set("from", Value::string(from));
        transaction.record(model::AuditKind::sign_in, name, data);
      },
      std::move(done));
}

}  // namespace reeve::runtime
