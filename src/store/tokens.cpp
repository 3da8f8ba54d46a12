#include "store/tokens.h"

#include "base/text.h"

namespace reeve::store {

namespace {

// An unknown scope grants nothing: another program wrote it.
std::vector<model::Scope> parse_scopes(std::string_view text) {
  std::vector<model::Scope> scopes;
  for (const std::string_view word : base::split(text, ',')) {
    if (const auto scope = base::find_enum<model::Scope>(word)) scopes.push_back(*scope);
  }
  return scopes;
}

model::Token read_token(const Row& row) {
  model::Token token;
  token.name = row.text(0);
  token.scopes = parse_scopes(row.text(1));
  token.created_at = row.time(2);
  token.created_by = row.text(3);
  token.expires_at = row.find_time(4);
  token.last_used_at = row.find_time(5);
  token.revoked_at = row.find_time(6);
  token.project = row.find_text(7);
  return token;
}

}  // namespace

std::optional<model::Token> find_token_by_hash(Session& session, const std::string& hash) {
  std::optional<model::Token> found;
  session.query(Sql::token_by_hash, {{"hash", hash}}, [&](const Row& row) { found = read_token(row); });
  return found;
}

std::optional<model::Token> find_token(Session& session, const std::string& name) {
  std::optional<model::Token> found;
  session.query(Sql::token_by_name, {{"name", name}}, [&](const Row& row) { found = read_token(row); });
  return found;
}

std::vector<model::Token> list_tokens(Session& session, const TokenFilter& filter) {
  std::vector<model::Token> found;
  session.query(Sql::tokens_list, {{"before", filter.before}, {"most", filter.most}},
                [&](const Row& row) { found.push_back(read_token(row)); });
  return found;
}

std::int64_t count_tokens(Session& session) { return session.query_number(Sql::tokens_count, {}); }

void insert_token(Session& session, const model::Token& token, const std::string& hash) {
  std::string scopes;
  for (const model::Scope scope : token.scopes) {
    if (!scopes.empty()) scopes += ',';
    scopes += base::spell(scope);
  }
  std::optional<std::string> expires_at;
  if (token.expires_at) expires_at = base::format_time(*token.expires_at);
  session.write(Sql::token_insert, {{"name", token.name},
                                    {"hash", hash},
                                    {"scopes", scopes},
                                    {"now", base::format_time(token.created_at)},
                                    {"created_by", token.created_by},
                                    {"expires_at", expires_at},
                                    {"project", token.project}});
}

void write_token_revoked(Session& session, const std::string& name, const std::string& now) {
  session.write(Sql::token_revoke, {{"name", name}, {"now", now}});
}

void write_token_used(Session& session, const std::string& hash, const std::string& now) {
  session.write_any(Sql::token_used, {{"hash", hash}, {"now", now}});
}

}  // namespace reeve::store
