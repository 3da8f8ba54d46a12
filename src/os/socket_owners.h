#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>
#include <vector>

#include "base/clock.h"
#include "os/tcp.h"

// Finds the processes at the other end of a local TCP connection.
namespace reeve::os {

struct TcpConnection {
  TcpAddress from;
  TcpAddress to;
  // A time at which the connection already existed.
  base::BootTime accepted = base::BootTime::max();
};

// The owners of one connection: the processes that have its end `from` open; if none of them is visible, all processes
// of the socket's user whose descriptors cannot be read. Empty: no process has it open, for example while its
// descriptor is in flight through another socket.
struct SocketOwners {
  std::vector<pid_t> processes;
  // Only for a guess: unreadable processes of the same user that started after the connection. They can only have
  // received it from another process.
  std::vector<pid_t> latecomers;
  // False if a limit was reached, or if no visible process owns the connection and some descriptor is in flight: then
  // other processes may own it.
  bool is_complete = true;
  // No visible process owns the connection: these are all that could.
  bool is_guess = false;
  // The socket belongs to a user for whom no process of the current user can create sockets.
  bool is_of_another_user = false;
  // Inode of the socket; 0 if that end is closed or closing.
  std::uint64_t inode = 0;
};

struct SocketOwnerBounds {
  // Visible owners per connection.
  std::size_t owners = 256;
  // Totals over the whole search.
  std::size_t processes = 100'000;
  std::size_t descriptors = 2'000'000;
  base::Milliseconds time = std::chrono::seconds(5);
};

// Searches all processes once for all connections: takes milliseconds, many on a busy machine. Not for a thread that
// others wait for.
std::vector<SocketOwners> find_socket_owners(std::span<const TcpConnection> connections,
                                             const SocketOwnerBounds& bounds = {});

// For each connection the inode of the socket at its end `from`; 0 unless it is established and open in some process.
// Check it again after inspecting the owners: a connection that has been closed meanwhile may have had any owner.
std::vector<std::uint64_t> find_inodes(std::span<const TcpConnection> connections);

}  // namespace reeve::os
