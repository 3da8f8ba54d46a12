#include "os/tcp.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ifaddrs.h>
#include <limits>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

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

// As /proc/net/tcp and tcp6 write it: words of 32 bits in the machine's order.
std::string kernel_text(const TcpAddress& address, bool is_v6_table) {
  std::string text;
  const std::size_t first = is_v6_table ? 0 : v4_at;
  for (std::size_t i = first; i < address.bytes.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, address.bytes.data() + i, sizeof word);
    text += fmt::format("{:08X}", word);
  }
  return text + fmt::format(":{:04X}", address.port);
}

struct FoundSocket {
  std::uint64_t user = 0;
  // 0: nobody holds it.
  std::uint64_t inode = 0;
};

// Behind the ends of a line: state, queues, timer, retransmissions, user, timeout, inode.
FoundSocket parse_rest(std::string_view text) {
  std::array<std::uint64_t, 7> fields{};
  std::size_t from = 0;
  for (std::uint64_t& field : fields) {
    from = text.find_first_not_of(' ', from);
    if (from == std::string_view::npos) return {};
    const std::size_t end = std::min(text.find(' ', from), text.size());
    field = parse_unsigned(text.substr(from, end - from));
    from = end;
  }
  return {fields[4], fields[6]};
}

// Line by line: the table of a busy machine is long.
FoundSocket find_socket(const char* table, const std::string& ends) {
  constexpr int most_lines = 200'000;
  const std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })> file(std::fopen(table, "re"));
  if (!file) return {};
  std::array<char, 512> line{};
  for (int i = 0; i < most_lines && std::fgets(line.data(), line.size(), file.get()) != nullptr; ++i) {
    const std::string_view text(line.data());
    const std::size_t at = text.find(ends);
    if (at != std::string_view::npos) return parse_rest(text.substr(at + ends.size()));
  }
  return {};
}

enum class Holding { no, yes, unknown };

Holding look(pid_t pid, const std::string& link) {
  const std::string folder = proc_path(pid, "fd");
  if (::access(folder.c_str(), R_OK | X_OK) != 0) return errno == EACCES ? Holding::unknown : Holding::no;
  const auto numbers = list_numbers(folder.c_str());
  const bool is_there = std::ranges::any_of(numbers, [&](pid_t number) {
    std::array<char, 64> target{};
    const std::string path = fmt::format("{}/{}", folder, number);
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length > 0 && std::string_view(target.data(), static_cast<std::size_t>(length)) == link;
  });
  return is_there ? Holding::yes : Holding::no;
}

// Whose it is, also of one that hides its files.
std::uint64_t user_of(pid_t pid) {
  constexpr std::string_view mark = "\nUid:\t";
  const std::string status = read_pseudo_file(proc_path(pid, "status").c_str());
  const std::size_t at = status.find(mark);
  if (at == std::string::npos) return std::numeric_limits<std::uint64_t>::max();
  const std::string_view rest = std::string_view(status).substr(at + mark.size());
  return parse_unsigned(rest.substr(0, rest.find('\t')));
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
      throw base::Error("daemon.port_in_use", fmt::format("another program listens at {}", address.text()),
                        "choose another port, or 0 for any that is free");
    }
    base::throw_errno("daemon.no_address", fmt::format("cannot listen at {}", address.text()), number,
                      "give an address of this machine and a port from 1024 on: 127.0.0.1:7433");
  };
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail(errno);
  const int on = 1;
  // So that connections of a daemon that has just left are not in the way.
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

std::vector<pid_t> find_holders(const TcpAddress& from, const TcpAddress& to, std::size_t most) {
  FoundSocket socket;
  if (from.is_v4() && to.is_v4()) {
    socket = find_socket("/proc/net/tcp", fmt::format(" {} {} ", kernel_text(from, false), kernel_text(to, false)));
  }
  if (socket.inode == 0) {
    socket = find_socket("/proc/net/tcp6", fmt::format(" {} {} ", kernel_text(from, true), kernel_text(to, true)));
  }
  if (socket.inode == 0) return {0};
  const std::string link = fmt::format("socket:[{}]", socket.inode);
  std::vector<pid_t> holders;
  std::vector<pid_t> hidden;
  for (const pid_t pid : list_processes()) {
    const Holding holding = look(pid, link);
    if (holding == Holding::yes && holders.size() < most) holders.push_back(pid);
    const bool may_hold = holding == Holding::unknown && hidden.size() < most && user_of(pid) == socket.user;
    if (may_hold) hidden.push_back(pid);
  }
  if (!holders.empty()) return holders;
  // Held by nobody whom one can see, as while its descriptor is on its way through another socket: nobody's.
  return hidden.empty() ? std::vector<pid_t>{0} : hidden;
}

bool is_own_address(const TcpAddress& address) {
  ifaddrs* all = nullptr;
  // What cannot be known is taken to be so: then its holder is looked for.
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
