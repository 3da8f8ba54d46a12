#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/token.h"

namespace reeve::client {

struct TokenRecord {
  base::Value wire;
  model::Token token;
  // "active", "expired", "revoked".
  std::string status;
};

struct NewToken {
  std::string name;
  std::vector<std::string> scopes;
  std::optional<std::string> expires_in;
  // The path of the only project that it may use.
  std::optional<std::string> project = {};
};
struct MadeToken {
  TokenRecord record;
  // Returned only here.
  std::string secret;
};
MadeToken create_token(Daemon& daemon, const NewToken& request);
// Newest first.
std::vector<TokenRecord> list_tokens(Daemon& daemon);
TokenRecord revoke_token(Daemon& daemon, const std::string& name);
// Replaces the daemon's own token; `file` is its path on the daemon's machine.
struct RenewedToken {
  base::Value wire;
  std::string file;
};
RenewedToken renew_own_token(Daemon& daemon);

// A one-time sign-in link.
struct SignInLink {
  base::Value wire;
  std::string url;
};
SignInLink make_sign_in_link(Daemon& daemon);

}  // namespace reeve::client
