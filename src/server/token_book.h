#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
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

  // Whether it is the daemon's own or counted lately. Asks nobody.
  bool is_familiar(const std::string& secret) const;
  // Nothing for one that there is not, that was revoked or has expired.
  using Found = std::expected<std::optional<Caller>, base::Error>;
  void find(const std::string& secret, std::function<void(Found)> done);
  // It was revoked here.
  void forget(const std::string& name);

 private:
  struct Entry {
    Caller caller;
    std::optional<base::WallTime> expires_at;
    base::BootTime found_at;
  };
  // Without the store, if that is not too long ago.
  std::optional<Caller> find_entry(const std::string& hash) const;
  void remember(const std::string& hash, const model::Token& token);

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
