#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/http/caller.h"

namespace reeve::server {

// Browser sign-ins: one-time link codes and cookie sessions. Only in memory and hashed, so a restarted daemon has none.
// Bounded; beyond the limit the oldest is dropped.
class SignIns {
 public:
  static constexpr std::chrono::minutes code_time{5};
  // Idle and total lifetime of a session.
  static constexpr std::chrono::hours idle_time{12};
  static constexpr std::chrono::hours longest_time{24 * 7};
  static constexpr std::size_t max_codes = 16;
  static constexpr std::size_t max_sessions = 32;

  std::string make_code(Caller caller, base::BootTime now);
  // The caller it was made for; a code works once.
  std::optional<Caller> take_code(const std::string& code, base::BootTime now);

  struct Session {
    // The value of the cookie.
    std::string cookie;
    // Sent by the daemon's pages with the cookie: cookies go to every port of a host, this key does not.
    std::string key;
  };
  Session open(Caller caller, base::BootTime now);
  // Extends the idle time.
  std::optional<Caller> find(const std::string& cookie, base::BootTime now);
  // By `Caller::session`; does not extend the idle time.
  bool is_open(const std::string& session, base::BootTime now) const;
  bool is_key(const std::string& session, const std::string& key) const;
  void close(const std::string& cookie) { end(hash_of(cookie)); }
  void end(const std::string& session);
  // Ends all sessions and codes of that name, because its token was revoked.
  void forget(const std::string& name);
  // The same by the hash of the token with which the link was created.
  void forget_token(const std::string& token);

  // Whether a session or an unused code exists.
  bool is_used(base::BootTime now);

 private:
  struct Entry {
    Caller caller;
    base::BootTime since;
    base::BootTime until;
    // Hashed, like the keys of the map.
    std::string key = {};
  };
  using Entries = std::map<std::string, Entry>;
  static std::string hash_of(const std::string& secret);
  static void drop_old(Entries& entries, base::BootTime now, std::size_t most);

  Entries codes_;
  Entries sessions_;
};

}  // namespace reeve::server
