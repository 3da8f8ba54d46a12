#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// Sockets with a name in the file system. A name may be longer than a socket's address: it is reached through its
// folder.
namespace reeve::os {

enum class SocketKind {
  // Bytes.
  stream,
  // Whole messages, in order.
  packets,
};

// Listens under this name, 0600; what was there before is replaced. Throws `os.failed`.
Fd listen_at(const std::string& path, SocketKind kind, int backlog = 128);
// Connected, non-blocking; nothing when nobody listens there (errno says why).
std::optional<Fd> connect_to(const std::string& path, SocketKind kind);
// Two ends of one.
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
