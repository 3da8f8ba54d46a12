#include "os/tcp.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <sys/socket.h>

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t v4_at = v4_prefix.size();

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const TcpAddress& address) {
  SocketAddress made;
  if (address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.bytes.data() + v4_at, sizeof v4.sin_addr);
    std::memcpy(&made.storage, &v4, sizeof v4);
    made.length = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&made.storage, &v6, sizeof v6);
    made.length = sizeof v6;
  }
  return made;
}

TcpAddress make_v4(const void* four_bytes, std::uint16_t port) {
  TcpAddress address{.port = port};
  std::ranges::copy(v4_prefix, address.bytes.begin());
  std::memcpy(address.bytes.data() + v4_at, four_bytes, 4);
  return address;
}

std::optional<TcpAddress> from_socket_address(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.storage, sizeof v4);
    return make_v4(&v4.sin_addr, ntohs(v4.sin_port));
  }
  if (address.storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.storage, sizeof v6);
  TcpAddress made{.port = ntohs(v6.sin6_port)};
  std::memcpy(made.bytes.data(), &v6.sin6_addr, made.bytes.size());
  return made;
}

}  // namespace

bool TcpAddress::is_v4() const noexcept { return std::ranges::equal(v4_prefix, std::span(bytes).first(v4_at)); }

bool TcpAddress::is_loopback() const noexcept {
  if (is_v4()) return bytes[v4_at] == 127;
  constexpr std::array<std::uint8_t, 16> one = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return bytes == one;
}

std::string TcpAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v4 = is_v4();
  ::inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data() + (v4 ? v4_at : 0), text.data(), text.size());
  return text.data();
}

std::string TcpAddress::text() const { return fmt::format(fmt::runtime(is_v4() ? "{}:{}" : "[{}]:{}"), host(), port); }

std::optional<TcpAddress> parse_tcp_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    TcpAddress made{.port = port};
    const std::string inner = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, inner.c_str(), made.bytes.data()) != 1) return std::nullopt;
    return made;
  }
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) != 1) return std::nullopt;
  return make_v4(&v4, port);
}

std::optional<TcpAddress> local_address(int socket) {
  SocketAddress address;
  if (::getsockname(socket, address.get(), &address.length) != 0) return std::nullopt;
  return from_socket_address(address);
}

std::optional<TcpAddress> peer_address(int socket) {
  SocketAddress address;
  if (::getpeername(socket, address.get(), &address.length) != 0) return std::nullopt;
  return from_socket_address(address);
}

Fd listen_at(const TcpAddress& address, int backlog) {
  const int family = address.is_v4() ? AF_INET : AF_INET6;
  const auto fail = [&](int number) {
    if (number == EADDRINUSE) {
      throw base::Error(ErrorCode::daemon_port_in_use,
                        fmt::format("another program is listening on {}", address.text()),
                        "choose another port, or 0 for any free port");
    }
    base::throw_errno(ErrorCode::daemon_no_address, fmt::format("cannot listen on {}", address.text()), number,
                      "give an address of this machine and a port of 1024 or above: 127.0.0.1:7433");
  };
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail(errno);
  const int on = 1;
  // Allows binding while connections of a previous daemon are in TIME_WAIT.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const SocketAddress name = to_socket_address(address);
  if (::bind(socket.get(), name.get(), name.length) != 0 || ::listen(socket.get(), backlog) != 0) fail(errno);
  return socket;
}

void prepare_connection(int socket) noexcept {
  const auto set = [&](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

bool is_own_address(const TcpAddress& address) {
  ifaddrs* all = nullptr;
  // If the interfaces cannot be listed, assume so: then the peer's process is searched for.
  if (::getifaddrs(&all) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const bool is_v4 = one->ifa_addr->sa_family == AF_INET;
    if (!is_v4 && one->ifa_addr->sa_family != AF_INET6) continue;
    SocketAddress found;
    found.length = is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(found.get(), one->ifa_addr, found.length);
    const auto own = from_socket_address(found);
    if (own && own->bytes == address.bytes) return true;
  }
  return false;
}

}  // namespace reeve::os
