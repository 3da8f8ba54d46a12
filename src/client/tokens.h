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
};
struct MadeToken {
  TokenRecord record;
  // Told this once.
  std::string secret;
};
MadeToken create_token(Daemon& daemon, const NewToken& wish);
// Newest first.
std::vector<TokenRecord> list_tokens(Daemon& daemon);
TokenRecord revoke_token(Daemon& daemon, const std::string& name);
// Another in the place of the daemon's own; `file` is where it lies, on the daemon's machine.
struct RenewedToken {
  base::Value wire;
  std::string file;
};
RenewedToken renew_own_token(Daemon& daemon);

// A link that lets a browser in, once.
struct SignInLink {
  base::Value wire;
  std::string url;
};
SignInLink make_sign_in_link(Daemon& daemon);

}  // namespace reeve::client
