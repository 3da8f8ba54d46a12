#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "os/fd.h"

namespace reeve::client {

// Where a daemon listens: a Unix socket, or a port that requires a token.
struct Endpoint {
  // Empty for a port.
  std::filesystem::path socket = {};
  // A name or an address, IPv6 without brackets.
  std::string host = {};
  std::uint16_t port = 0;
  bool is_encrypted = false;
  std::string token = {};
  // The user who must listen at the socket; unset: any.
  std::optional<uid_t> owner = {};

  // A local address, possibly the end of a tunnel: the traffic cannot be read on the network.
  bool is_loopback() const;
  // "127.0.0.1:7433", "[::1]:7433"; as in the Host header.
  std::string authority() const;
  // "http://127.0.0.1:7433", "unix:///run/reeve.sock".
  std::string url() const;
};

// Parses "http://host:port", "https://host[:443]" or "unix:///path/reeve.sock"; otherwise returns the error. A user
// name or password is refused: a token is never part of an address.
std::expected<Endpoint, std::string> parse_endpoint(std::string_view url);

// A connected, blocking socket; over a network the connection must succeed within 5 s. Throws ConnectionLost;
// `is_foreign` if another user than the owner listens.
os::Fd open_socket(const Endpoint& endpoint);

}  // namespace reeve::client
