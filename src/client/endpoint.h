#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace reeve::client {

// Where a daemon listens: a socket in the file system, or a port that wants a token.
struct Endpoint {
  // Empty: a port.
  std::filesystem::path socket = {};
  // A name or an address, IPv6 without brackets.
  std::string host = {};
  std::uint16_t port = 0;
  bool is_encrypted = false;
  std::string token = {};

  // This machine's own, or one behind a tunnel: nobody can read along.
  bool is_loopback() const;
  // "127.0.0.1:7433", "[::1]:7433"; as Host has it.
  std::string authority() const;
  // "http://127.0.0.1:7433", "unix:///run/reeve.sock".
  std::string url() const;
};

// "http://host:port", "https://host[:443]", "unix:///path/reeve.sock"; else why it is none. A name and password in it
// are none of ours: a token is never part of an address.
std::expected<Endpoint, std::string> parse_endpoint(std::string_view url);

// Connected and blocking, within 5 s where others are on the way. Throws Lost.
os::Fd open_socket(const Endpoint& endpoint);

}  // namespace reeve::client
