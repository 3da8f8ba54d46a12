#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "runtime/daemon.h"
#include "server/http/caller.h"

namespace reeve::server {

// Finds the caller for a token. Tokens are in the store and cached for a second, so that a revocation by another daemon
// takes effect that fast. In addition there is the daemon's own token, in a file of its state folder.
class TokenBook {
 public:
  explicit TokenBook(runtime::Daemon& daemon);

  // The daemon's own token, with all scopes and the name of the daemon's user. Created if the file is missing or could
  // have been read by others.
  void open_own(const std::filesystem::path& file);
  // Replaces it, also in the file; the previous token is revoked. Throws if the file cannot be written, and then
  // changes nothing.
  void renew_own(const std::filesystem::path& file);

  // Empty if there is none.
  const std::string& own_hash() const noexcept { return own_hash_; }

  // Whether it is the daemon's own token or in the cache. Does not ask the store.
  bool is_familiar(const std::string& secret) const;
  // Nothing for an unknown, revoked or expired token.
  using Found = std::expected<std::optional<Caller>, base::Error>;
  void find(const std::string& secret, std::function<void(Found)> done);
  // The same by hash, for a browser that signed in with the token.
  void find_hashed(const std::string& hash, std::function<void(Found)> done);
  // Which of the hashes are no longer valid, according to the store.
  using Over = std::expected<std::set<std::string>, base::Error>;
  void find_over(std::set<std::string> hashes, std::function<void(Over)> done);
  // The token was revoked on this daemon.
  void forget(const std::string& name);
  // The same for a token that the store reports as no longer valid.
  void forget_hashed(const std::string& hash) { entries_.erase(hash); }

 private:
  struct Entry {
    Caller caller;
    std::optional<base::WallTime> expires_at;
    base::BootTime found_at;
  };
  // From the cache, unless the entry is too old.
  std::optional<Caller> find_entry(const std::string& hash) const;
  void remember(const std::string& hash, const model::Token& token);
  void set_own(const std::string& secret);

  runtime::Daemon& daemon_;
  std::string own_hash_;
  Caller own_;
  // Keyed by the hash of the secret.
  std::map<std::string, Entry> entries_;
  // Counts revocations: store results from before the last one are discarded.
  std::uint64_t revocations_ = 0;
};

// The prefix of token secrets, which makes them recognisable to people and to secret scanners.
inline constexpr std::string_view token_prefix = "reeve_";
bool looks_like_token(std::string_view text) noexcept;

}  // namespace reeve::server
