#include "os/unix_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

// The address of a path, through its folder if it is too long. The folder must stay open while the address is used.
struct Address {
  Fd folder;
  sockaddr_un name{};
};

std::optional<Address> find_address(const std::string& path) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::string shown = path;
  if (path.size() >= sizeof(address.name.sun_path)) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
    address.folder = Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.folder) return std::nullopt;
    shown = "/proc/self/fd/" + std::to_string(address.folder.get()) + "/" +
            path.substr(slash == std::string::npos ? 0 : slash + 1);
    if (shown.size() >= sizeof(address.name.sun_path)) {
      errno = ENAMETOOLONG;
      return std::nullopt;
    }
  }
  std::copy(shown.begin(), shown.end(), address.name.sun_path);
  return address;
}

int type_of(SocketKind kind) noexcept {
  return (kind == SocketKind::packets ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
}

const sockaddr* generic(const sockaddr_un& name) noexcept { return reinterpret_cast<const sockaddr*>(&name); }

}  // namespace

Fd listen_at(const std::string& path, SocketKind kind, int backlog) {
  Fd socket(::socket(AF_UNIX, type_of(kind), 0));
  const auto address = find_address(path);
  if (!socket || !address) base::throw_errno(ErrorCode::os_failed, "cannot create a socket at '" + path + "'", errno);
  ::unlink(path.c_str());
  // Linux creates the file with the mode of the socket, so that no other user can ever connect. A umask would do the
  // same to every file and folder that another thread creates meanwhile, and to the tools that it starts.
  if (::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot restrict the socket for '" + path + "'", errno);
  }
  if (::bind(socket.get(), generic(address->name), sizeof(address->name)) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot bind a socket to '" + path + "'", errno);
  }
  if (::listen(socket.get(), backlog) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot listen on '" + path + "'", errno);
  }
  return socket;
}

std::optional<Fd> connect_to(const std::string& path, SocketKind kind) {
  Fd socket(::socket(AF_UNIX, type_of(kind), 0));
  const auto address = find_address(path);
  if (!socket || !address) return std::nullopt;
  if (::connect(socket.get(), generic(address->name), sizeof(address->name)) != 0) return std::nullopt;
  return socket;
}

SocketPair make_socket_pair(SocketKind kind) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type_of(kind), 0, ends.data()) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot create a socket pair", errno);
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

PeerCredentials peer_of(int socket) noexcept {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  return {credentials.pid, credentials.uid};
}

}  // namespace reeve::os
