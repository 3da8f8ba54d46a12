#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/quantity.h"
#include "ledger/ledger.h"
#include "model/token.h"
#include "runtime/loop/loop.h"
#include "store/tokens.h"

namespace reeve::runtime {

// The API tokens in the store. Each change is one transaction with its audit entry; callbacks run on the loop.
class Tokens {
 public:
  template <class T>
  using Done = std::function<void(std::expected<T, base::Error>)>;

  // Both must outlive the calls.
  Tokens(ledger::Ledger& ledger, Loop& loop) noexcept : ledger_(ledger), loop_(loop) {}

  // Newest first, and the time at which the store read them.
  struct Listed {
    std::vector<model::Token> tokens;
    base::WallTime now;
  };
  void list(const store::TokenFilter& filter, Done<Listed> done) const;

  struct Request {
    // Its times are set by the store.
    model::Token token;
    std::optional<base::Milliseconds> life;
    // The SHA-256 of the secret, which is stored nowhere.
    std::string hash;
  };
  // Errors: `token.already_exists`, `token.too_many`.
  void create(Request request, Done<model::Token> done) const;
  // Returns a revoked token unchanged. Errors: `token.not_found`.
  void revoke(const std::string& name, const std::string& actor, Done<model::Token> done) const;

  // Finds a token that is neither revoked nor expired, and records its use.
  void use(const std::string& hash, Done<std::optional<model::Token>> done) const;
  // Those of the hashes that belong to no token that can be used.
  void find_unusable(std::set<std::string> hashes, Done<std::set<std::string>> done) const;

  // The daemon's own token, which is in a file, is about to be replaced.
  void record_own_renewed(const std::string& actor, Done<void> done) const;
  // A browser signs in from that address.
  void record_sign_in(const std::string& name, const std::string& from, Done<void> done) const;

 private:
  ledger::Ledger& ledger_;
  Loop& loop_;
};

}  // namespace reeve::runtime
