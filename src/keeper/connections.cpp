#include "keeper/connections.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "os/tree.h"
#include "os/unix_socket.h"

namespace reeve::keeper {

namespace {

// The tool and its descendants run as the same user and could connect to the socket, but are not daemons.
bool is_own_tree(pid_t pid) {
  const std::vector<os::ProcessId> own = os::find_descendants(::getpid());
  return std::ranges::any_of(own, [&](const os::ProcessId& id) { return id.pid == pid; });
}

}  // namespace

void Connections::listen(const std::string& path) {
  listener_ = os::listen_at(path, os::SocketKind::packets, static_cast<int>(most));
}

void Connections::add(os::Fd socket) { all_.push_back({.socket = std::move(socket)}); }

std::size_t Connections::watch(std::span<pollfd, max_ends> ends) const noexcept {
  ends[0] = {all_.size() < most ? listener_.get() : -1, POLLIN, 0};
  std::size_t count = 1;
  for (const Connection& connection : all_) ends[count++] = {connection.socket.get(), POLLIN, 0};
  return count;
}

std::optional<std::size_t> Connections::accept() {
  os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return std::nullopt;
  const os::PeerCredentials peer = os::peer_of(socket.get());
  if (peer.uid != ::getuid() || is_own_tree(peer.pid)) return std::nullopt;
  add(std::move(socket));
  return all_.size() - 1;
}

std::optional<ToKeeper> Connections::receive(std::size_t index) {
  // Uninitialized, so that a silent run does not touch its pages.
  static const std::unique_ptr<char[]> bytes(new char[message_bytes]);
  const ssize_t count = ::recv(all_[index].socket.get(), bytes.get(), message_bytes, 0);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  std::optional<ToKeeper> message;
  if (count > 0) message = decode_to_keeper({bytes.get(), static_cast<std::size_t>(count)});
  if (!message) all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(index));
  return message;
}

void Connections::tell(std::size_t index, const FromKeeper& message) noexcept {
  const std::string bytes = encode(message);
  // Messages are few and small: a peer that does not read them is considered gone, and can read the files instead.
  ::send(all_[index].socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Connections::tell_all(const FromKeeper& message) noexcept {
  for (std::size_t index = 0; index < all_.size(); ++index) tell(index, message);
}

void Connections::tell_growth(std::uint64_t position) noexcept {
  for (std::size_t index = 0; index < all_.size(); ++index) {
    Connection& connection = all_[index];
    if (connection.owes_answer || connection.told == position) continue;
    connection.told = position;
    connection.owes_answer = true;
    tell(index, Grew{position});
  }
}

}  // namespace reeve::keeper
