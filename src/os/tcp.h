#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "os/fd.h"

// TCP: addresses and listening.
namespace reeve::os {

struct TcpAddress {
  // IPv4 addresses mapped (::ffff:127.0.0.1), so that there is one form of each.
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

// "127.0.0.1:7433", "[::1]:7433", "localhost:7433" (127.0.0.1). No other names: what they stand for is not known here.
std::optional<TcpAddress> parse_tcp_address(std::string_view text);

// Of a connected or listening socket; nothing when it is none of TCP.
std::optional<TcpAddress> local_address(int socket);
std::optional<TcpAddress> peer_address(int socket);

// Listens there, non-blocking, on that address family alone; port 0: any that is free. Throws `daemon.port_in_use`,
// `daemon.no_address` (the machine has none such, or may not listen there).
Fd listen_at(const TcpAddress& address, int backlog = 128);
// Small pieces go out at once; an end that went away silently is found out within some minutes.
void prepare_connection(int socket) noexcept;

// Whether an interface of this machine has it, whatever the port.
bool is_own_address(const TcpAddress& address);

}  // namespace reeve::os
