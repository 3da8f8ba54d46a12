#include "server/access/auth_failure_limiter.h"

#include <algorithm>

namespace reeve::server {

// The owner of one IPv6 address usually has its whole /64.
AuthFailureLimiter::Key AuthFailureLimiter::key_of(const os::TcpAddress& from) {
  Key key = from.bytes;
  if (!from.is_v4() && !from.is_loopback()) std::fill(key.begin() + 8, key.end(), std::uint8_t{0});
  return key;
}

void AuthFailureLimiter::count(const os::TcpAddress& from, base::BootTime now) {
  const Key key = key_of(from);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= max_addresses) make_room(now);
    found = entries_.emplace(key, Entry{now, 0}).first;
  }
  Entry& entry = found->second;
  if (now - entry.since >= window) entry = {now, 0};
  entry.count = std::min(entry.count + 1, most);
}

std::optional<std::chrono::seconds> AuthFailureLimiter::find_pause(const os::TcpAddress& from,
                                                                   base::BootTime now) const {
  const auto found = entries_.find(key_of(from));
  if (found == entries_.end() || found->second.count < most) return std::nullopt;
  const auto left = found->second.since + window - now;
  if (left <= base::BootTime::duration::zero()) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(left);
}

void AuthFailureLimiter::make_room(base::BootTime now) {
  std::erase_if(entries_, [&](const auto& one) { return now - one.second.since >= window; });
  if (entries_.size() < max_addresses) return;
  entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& one) { return one.second.since; }));
}

}  // namespace reeve::server
