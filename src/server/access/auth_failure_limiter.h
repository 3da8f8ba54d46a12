#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "os/tcp.h"

namespace reeve::server {

// Counts recent wrong credentials per address. Bounded: with too many addresses, the oldest are forgotten.
class AuthFailureLimiter {
 public:
  static constexpr int most = 10;
  static constexpr std::chrono::seconds window{60};
  static constexpr std::size_t max_addresses = 1'024;

  void count(const os::TcpAddress& from, base::BootTime now);
  // How long credentials from the address stay blocked; nothing if they are accepted.
  std::optional<std::chrono::seconds> find_pause(const os::TcpAddress& from, base::BootTime now) const;
  std::size_t addresses() const noexcept { return entries_.size(); }

 private:
  using Key = std::array<std::uint8_t, 16>;
  struct Entry {
    base::BootTime since;
    int count = 0;
  };
  static Key key_of(const os::TcpAddress& from);
  void make_room(base::BootTime now);

  std::map<Key, Entry> entries_;
};

}  // namespace reeve::server
