#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// Unix sockets with a path. Paths longer than a socket address are reached through their folder.
namespace reeve::os {

enum class SocketKind {
  // A byte stream.
  stream,
  // Whole messages, in order.
  packets,
};

// Listens at this path with mode 0600, replacing an existing socket. Throws `os.failed`.
Fd listen_at(const std::string& path, SocketKind kind, int backlog = 128);
// Connected and non-blocking; nullopt if nothing listens there (errno gives the reason).
std::optional<Fd> connect_to(const std::string& path, SocketKind kind);
struct SocketPair {
  Fd ours;
  Fd theirs;
};
SocketPair make_socket_pair(SocketKind kind);

struct PeerCredentials {
  pid_t pid = -1;
  uid_t uid = static_cast<uid_t>(-1);
};
PeerCredentials peer_of(int socket) noexcept;

}  // namespace reeve::os
