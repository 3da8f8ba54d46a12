#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/token.h"
#include "store/session.h"

namespace reeve::store {

// Includes revoked and expired tokens.
std::optional<model::Token> find_token_by_hash(Session& session, const std::string& hash);
std::optional<model::Token> find_token(Session& session, const std::string& name);
// Newest first.
// Newest first; those made before the one of that name, if one is given.
struct TokenFilter {
  std::string before = {};
  std::int64_t most = 50;
};
std::vector<model::Token> list_tokens(Session& session, const TokenFilter& filter);
std::int64_t count_tokens(Session& session);

// `hash` is the SHA-256 of the secret, which is long and random.
void insert_token(Session& session, const model::Token& token, const std::string& hash);
// Only for a token that is not revoked.
void write_token_revoked(Session& session, const std::string& name, const std::string& now);
void write_token_used(Session& session, const std::string& hash, const std::string& now);

}  // namespace reeve::store
