#include "os/claim.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "os/unix_socket.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
  const sockaddr* generic() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }
};

Address make_address(const std::string& name) {
  Address address;
  REEVE_ASSERT(name.size() + 1 < sizeof(address.name.sun_path));
  address.name.sun_family = AF_UNIX;
  // An abstract name begins with NUL.
  std::copy(name.begin(), name.end(), address.name.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Fd make_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) base::throw_errno(ErrorCode::os_failed, "cannot open a socket", errno);
  return socket;
}

}  // namespace

std::optional<Claim> Claim::try_take(const std::string& name) {
  // More than will ever query at once: a full queue would hide the owner.
  constexpr int backlog = 4'096;
  Fd socket = make_socket();
  const Address address = make_address(name);
  if (::bind(socket.get(), address.generic(), address.length) != 0) {
    if (errno == EADDRINUSE) return std::nullopt;
    base::throw_errno(ErrorCode::os_failed, "cannot claim a socket name", errno);
  }
  if (::listen(socket.get(), backlog) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot claim a socket name", errno);
  }
  return Claim(std::move(socket));
}

std::optional<Claim::Holder> Claim::find_holder(const std::string& name) {
  const Fd socket = make_socket();
  const Address address = make_address(name);
  if (::connect(socket.get(), address.generic(), address.length) != 0) return std::nullopt;
  const PeerCredentials peer = peer_of(socket.get());
  if (peer.uid != ::geteuid()) return std::nullopt;
  return Holder{peer.pid};
}

void Claim::drain() const noexcept {
  while (true) {
    const Fd asked(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!asked) return;
  }
}

}  // namespace reeve::os
