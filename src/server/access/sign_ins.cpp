#include "server/access/sign_ins.h"

#include <algorithm>

#include "base/hash.h"
#include "server/access/secret.h"

namespace reeve::server {

std::string SignIns::hash_of(const std::string& secret) { return base::sha256_hex(secret); }

// Makes space for one more.
void SignIns::drop_old(Entries& entries, base::BootTime now, std::size_t most) {
  std::erase_if(entries, [&](const auto& one) { return one.second.until <= now; });
  while (entries.size() >= most) {
    entries.erase(std::ranges::min_element(entries, {}, [](const auto& one) { return one.second.since; }));
  }
}

std::string SignIns::make_code(Caller caller, base::BootTime now) {
  drop_old(codes_, now, max_codes);
  std::string code = make_secret();
  codes_.emplace(hash_of(code), Entry{std::move(caller), now, now + code_time});
  return code;
}

std::optional<Caller> SignIns::take_code(const std::string& code, base::BootTime now) {
  const auto found = codes_.find(hash_of(code));
  if (found == codes_.end()) return std::nullopt;
  Entry entry = std::move(found->second);
  codes_.erase(found);
  if (entry.until <= now) return std::nullopt;
  return std::move(entry.caller);
}

SignIns::Session SignIns::open(Caller caller, base::BootTime now) {
  drop_old(sessions_, now, max_sessions);
  Session session{.cookie = make_secret(), .key = make_secret()};
  caller.session = hash_of(session.cookie);
  const std::string name = caller.session;
  sessions_.emplace(name, Entry{std::move(caller), now, now + idle_time, hash_of(session.key)});
  return session;
}

std::optional<Caller> SignIns::find(const std::string& cookie, base::BootTime now) {
  const auto found = sessions_.find(hash_of(cookie));
  if (found == sessions_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.until <= now) {
    sessions_.erase(found);
    return std::nullopt;
  }
  entry.until = std::min<base::BootTime>(now + idle_time, entry.since + longest_time);
  return entry.caller;
}

bool SignIns::is_open(const std::string& session, base::BootTime now) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.until > now;
}

bool SignIns::is_key(const std::string& session, const std::string& key) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.key == hash_of(key);
}

void SignIns::end(const std::string& session) { sessions_.erase(session); }

void SignIns::forget(const std::string& name) {
  const auto is_theirs = [&](const auto& entry) { return entry.second.caller.name == name; };
  std::erase_if(codes_, is_theirs);
  std::erase_if(sessions_, is_theirs);
}

void SignIns::forget_token(const std::string& token) {
  const auto is_by_it = [&](const auto& entry) { return entry.second.caller.token == token; };
  std::erase_if(codes_, is_by_it);
  std::erase_if(sessions_, is_by_it);
}

bool SignIns::is_used(base::BootTime now) {
  drop_old(codes_, now, max_codes + 1);
  drop_old(sessions_, now, max_sessions + 1);
  return !codes_.empty() || !sessions_.empty();
}

}  // namespace reeve::server
