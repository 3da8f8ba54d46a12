#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "os/fd.h"

// TCP addresses and listening sockets.
namespace reeve::os {

struct TcpAddress {
  // IPv4 addresses are mapped (::ffff:127.0.0.1), so that each address has one form.
  std::array<std::uint8_t, 16> bytes{};
  std::uint16_t port = 0;

  bool is_v4() const noexcept;
  bool is_loopback() const noexcept;
  // Without the port: "127.0.0.1", "::1".
  std::string host() const;
  // "127.0.0.1:7433", "[::1]:7433".
  std::string text() const;
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

// "127.0.0.1:7433", "[::1]:7433", "localhost:7433" (127.0.0.1). Other host names are not resolved.
std::optional<TcpAddress> parse_tcp_address(std::string_view text);

// The address of a connected or listening socket; nullopt if it is not a TCP socket.
std::optional<TcpAddress> local_address(int socket);
std::optional<TcpAddress> peer_address(int socket);

// Listens non-blocking on that address family only; port 0: any free port. Throws `daemon.port_in_use`,
// `daemon.no_address` (not an address of this machine, or not permitted).
Fd listen_at(const TcpAddress& address, int backlog = 128);
// Disables Nagle's algorithm; keep-alive detects a dead peer within minutes.
void prepare_connection(int socket) noexcept;

// Whether an interface of this machine has the address; the port is ignored.
bool is_own_address(const TcpAddress& address);

}  // namespace reeve::os
