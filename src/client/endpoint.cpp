#include "client/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/http.h"
#include "os/tcp.h"
#include "os/unix_socket.h"

namespace reeve::client {

namespace {

constexpr base::Milliseconds connect_time = std::chrono::seconds(5);

[[noreturn]] void lose(std::string_view doing, int error_number) {
  throw ConnectionLost{fmt::format("{}: {}", doing, std::generic_category().message(error_number))};
}

os::Fd open_named_socket(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = path.string();
  os::Fd folder;
  if (name.size() >= sizeof address.sun_path) {
    const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    folder = os::Fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder) lose(fmt::format("cannot open {}", base::quoted(parent.string())), errno);
    name = fmt::format("/proc/self/fd/{}/{}", folder.get(), path.filename().string());
  }
  if (name.size() >= sizeof address.sun_path)
    lose(fmt::format("cannot connect to {}", base::quoted(name)), ENAMETOOLONG);
  std::ranges::copy(name, std::begin(address.sun_path));

  // A suspended daemon accepts no connection; with a full backlog, a non-blocking connect fails at once.
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) lose("cannot open a socket", errno);
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) lose(fmt::format("cannot connect to {}", base::quoted(path.string())), errno);
  }
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

// 0, or the errno.
int connect_within(int socket, const addrinfo& address, base::BootTime deadline) {
  const base::SystemClock clock;
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  while (true) {
    const auto left = std::chrono::ceil<base::Milliseconds>(deadline - clock.boot_now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd state{socket, POLLOUT, 0};
    const int ready = ::poll(&state, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    int failure = 0;
    socklen_t length = sizeof failure;
    ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &length);
    return failure;
  }
}

os::Fd open_tcp_socket(const Endpoint& endpoint) {
  const base::BootTime deadline = base::SystemClock().boot_now() + connect_time;
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &wanted, &list);
  if (failure != 0)
    throw ConnectionLost{fmt::format("cannot resolve {}: {}", base::quoted(endpoint.host), ::gai_strerror(failure))};
  const std::unique_ptr<addrinfo, decltype([](addrinfo* one) { ::freeaddrinfo(one); })> owned(list);
  int last = EADDRNOTAVAIL;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    os::Fd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) lose("cannot open a socket", errno);
    last = connect_within(socket.get(), *one, deadline);
    if (last != 0) continue;
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
    os::prepare_connection(socket.get());
    return socket;
  }
  lose(fmt::format("cannot connect to {}", endpoint.authority()), last);
}

}  // namespace

bool Endpoint::is_loopback() const {
  if (!socket.empty() || base::to_ascii_lower(host) == "localhost") return true;
  const auto address = os::parse_tcp_address(authority());
  return address && address->is_loopback();
}

std::string Endpoint::authority() const {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string Endpoint::url() const {
  if (!socket.empty()) return fmt::format("unix://{}", socket.string());
  return fmt::format("{}://{}", is_encrypted ? "https" : "http", authority());
}

std::expected<Endpoint, std::string> parse_endpoint(std::string_view url) {
  constexpr std::string_view unix_start = "unix://";
  Endpoint endpoint;
  if (url.starts_with(unix_start)) {
    endpoint.socket = url.substr(unix_start.size());
    if (!endpoint.socket.is_absolute()) return std::unexpected("the socket path must be absolute");
    return endpoint;
  }
  endpoint.is_encrypted = url.starts_with("https://");
  if (!endpoint.is_encrypted && !url.starts_with("http://"))
    return std::unexpected("it must begin with http://, https:// or unix://");
  std::string_view rest = url.substr(url.find("//") + 2);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.contains('@')) return std::unexpected("it must not contain a user name, password or token");
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return std::unexpected("the closing bracket is missing");
    endpoint.host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
  } else {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    endpoint.host = rest.substr(0, colon);
    port = rest.substr(colon);
  }
  const bool is_host = !endpoint.host.empty() && std::ranges::all_of(endpoint.host, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view(".-_:%").contains(c);
  });
  if (!is_host) return std::unexpected("it has no valid host name or address");
  endpoint.port = endpoint.is_encrypted ? 443 : 80;
  if (port.empty()) return endpoint;
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  const bool is_port = error == std::errc() && end == port.data() + port.size() && endpoint.port > 0;
  if (!is_port) return std::unexpected("only a port may follow the host name");
  return endpoint;
}

os::Fd open_socket(const Endpoint& endpoint) {
  if (endpoint.socket.empty()) return open_tcp_socket(endpoint);
  os::Fd socket = open_named_socket(endpoint.socket);
  if (!endpoint.owner) return socket;
  const uid_t peer = os::peer_of(socket.get()).uid;
  if (peer == *endpoint.owner) return socket;
  throw ConnectionLost{.what = fmt::format("user {}, who is not the owner of this process, listens at {}", peer,
                                           base::quoted(endpoint.socket.string())),
                       .is_foreign = true};
}

}  // namespace reeve::client
