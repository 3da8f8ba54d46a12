#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/caller.h"

namespace reeve::server {

// Browsers that were let in: codes of links that are used once, and what their cookies stand for. In memory alone and
// hashed: a daemon that begins anew knows none. Bounded; of too many the oldest goes.
class SignIns {
 public:
  static constexpr std::chrono::minutes code_time{5};
  // Without a request, and in all.
  static constexpr std::chrono::hours idle_time{12};
  static constexpr std::chrono::hours longest_time{24 * 7};
  static constexpr std::size_t most_codes = 16;
  static constexpr std::size_t most_sessions = 32;

  std::string make_code(Caller caller, base::BootTime now);
  // Who it was made for; the same code never again.
  std::optional<Caller> take_code(const std::string& code, base::BootTime now);

  struct Session {
    // What the cookie holds.
    std::string cookie;
    // What pages of this daemon say beside it. Cookies are sent to every port of a host; this is not.
    std::string key;
  };
  Session open(Caller caller, base::BootTime now);
  // Counts as use.
  std::optional<Caller> find(const std::string& cookie, base::BootTime now);
  // By `Caller::session`, without using it.
  bool is_open(const std::string& session, base::BootTime now) const;
  bool is_key(const std::string& session, const std::string& key) const;
  void close(const std::string& cookie) { end(hash_of(cookie)); }
  void end(const std::string& session);
  // All that were let in, or may yet come in, in that name: its token is revoked.
  void forget(const std::string& name);
  // The same by the hash of the token that the link was asked for with.
  void forget_token(const std::string& token);

  // Whether anybody is in, or may still come in.
  bool is_used(base::BootTime now);

 private:
  struct Entry {
    Caller caller;
    base::BootTime since;
    base::BootTime until;
    // Hashed, as the names of the entries are.
    std::string key = {};
  };
  using Entries = std::map<std::string, Entry>;
  static std::string hash_of(const std::string& secret);
  static void drop_old(Entries& entries, base::BootTime now, std::size_t most);

  Entries codes_;
  Entries sessions_;
};

}  // namespace reeve::server
