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

  // What the cookie holds.
  std::string open(Caller caller, base::BootTime now);
  std::optional<Caller> find(const std::string& cookie, base::BootTime now);
  void close(const std::string& cookie);
  // All that were let in, or may yet come in, in that name: its token is revoked.
  void forget(const std::string& name);

  // Whether anybody is in, or may still come in.
  bool is_used(base::BootTime now);

 private:
  struct Entry {
    Caller caller;
    base::BootTime since;
    base::BootTime until;
  };
  using Entries = std::map<std::string, Entry>;
  static void drop_old(Entries& entries, base::BootTime now, std::size_t most);

  Entries codes_;
  Entries sessions_;
};

}  // namespace reeve::server
