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
#include "server/caller.h"

namespace reeve::server {

// Whose secret it is. The store has the tokens; what it said is believed for a second, so that a token that another
// daemon has revoked ends as fast. Beside them there is the daemon's own, in a file of its state folder.
class TokenBook {
 public:
  explicit TokenBook(runtime::Daemon& daemon);

  // The daemon's own, with all scopes, named after the user whose daemon it is. Made when the file has none, or when
  // others could have read it.
  void open_own(const std::filesystem::path& file);
  // Another in its place, in the file too; the one before counts no more. Throws when the file cannot be written: then
  // nothing has changed.
  void renew_own(const std::filesystem::path& file);

  // Empty while there is none.
  const std::string& own_hash() const noexcept { return own_hash_; }

  // Whether it is the daemon's own or counted lately. Asks nobody.
  bool is_familiar(const std::string& secret) const;
  // Nothing for one that there is not, that was revoked or has expired.
  using Found = std::expected<std::optional<Caller>, base::Error>;
  void find(const std::string& secret, std::function<void(Found)> done);
  // The same by its hash, of a browser that was let in by it.
  void find_hashed(const std::string& hash, std::function<void(Found)> done);
  // Which of those hashes count no more, as the store says now.
  using Over = std::expected<std::set<std::string>, base::Error>;
  void find_over(std::set<std::string> hashes, std::function<void(Over)> done);
  // It was revoked here.
  void forget(const std::string& name);
  // The same of one that the store says is over.
  void forget_hashed(const std::string& hash) { entries_.erase(hash); }

 private:
  struct Entry {
    Caller caller;
    std::optional<base::WallTime> expires_at;
    base::BootTime found_at;
  };
  // Without the store, if that is not too long ago.
  std::optional<Caller> find_entry(const std::string& hash) const;
  void remember(const std::string& hash, const model::Token& token);
  void set_own(const std::string& secret);

  runtime::Daemon& daemon_;
  std::string own_hash_;
  Caller own_;
  // By the hash of the secret.
  std::map<std::string, Entry> entries_;
  // Grows with each one that was revoked: an answer of the store from before is not believed.
  std::uint64_t revocations_ = 0;
};

// How secrets of tokens look: told from passwords and ids at a glance, also by those who look for leaked ones.
inline constexpr std::string_view token_prefix = "reeve_";
bool looks_like_token(std::string_view text) noexcept;

}  // namespace reeve::server
