#include "server/sign_ins.h"

#include <algorithm>

#include "base/hash.h"
#include "server/secret.h"

namespace reeve::server {

// Leaves room for one more.
void SignIns::drop_old(Entries& entries, base::BootTime now, std::size_t most) {
  std::erase_if(entries, [&](const auto& one) { return one.second.until <= now; });
  while (entries.size() >= most) {
    entries.erase(std::ranges::min_element(entries, {}, [](const auto& one) { return one.second.since; }));
  }
}

std::string SignIns::make_code(Caller caller, base::BootTime now) {
  drop_old(codes_, now, most_codes);
  std::string code = make_secret();
  codes_.emplace(base::sha256_hex(code), Entry{std::move(caller), now, now + code_time});
  return code;
}

std::optional<Caller> SignIns::take_code(const std::string& code, base::BootTime now) {
  const auto found = codes_.find(base::sha256_hex(code));
  if (found == codes_.end()) return std::nullopt;
  Entry entry = std::move(found->second);
  codes_.erase(found);
  if (entry.until <= now) return std::nullopt;
  return std::move(entry.caller);
}

std::string SignIns::open(Caller caller, base::BootTime now) {
  drop_old(sessions_, now, most_sessions);
  std::string cookie = make_secret();
  sessions_.emplace(base::sha256_hex(cookie), Entry{std::move(caller), now, now + idle_time});
  return cookie;
}

std::optional<Caller> SignIns::find(const std::string& cookie, base::BootTime now) {
  const auto found = sessions_.find(base::sha256_hex(cookie));
  if (found == sessions_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.until <= now) {
    sessions_.erase(found);
    return std::nullopt;
  }
  entry.until = std::min<base::BootTime>(now + idle_time, entry.since + longest_time);
  return entry.caller;
}

void SignIns::close(const std::string& cookie) { sessions_.erase(base::sha256_hex(cookie)); }

void SignIns::forget(const std::string& name) {
  const auto is_theirs = [&](const auto& entry) { return entry.second.caller.name == name; };
  std::erase_if(codes_, is_theirs);
  std::erase_if(sessions_, is_theirs);
}

bool SignIns::is_used(base::BootTime now) {
  drop_old(codes_, now, most_codes + 1);
  drop_old(sessions_, now, most_sessions + 1);
  return !codes_.empty() || !sessions_.empty();
}

}  // namespace reeve::server
