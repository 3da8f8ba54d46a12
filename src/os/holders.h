#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>
#include <vector>

#include "base/clock.h"
#include "os/tcp.h"

// Whose processes stand at the other end of a connection of this machine.
namespace reeve::os {

struct TcpConnection {
  TcpAddress from;
  TcpAddress to;
  // When it was there at the latest.
  base::BootTime accepted = base::BootTime::max();
};

// Of one connection: the processes that hold its end `from`; where none of them may be looked at, those of its user
// that may not. None: nobody holds it any more, as while its descriptor is on its way through another socket.
struct Holders {
  std::vector<pid_t> processes;
  // Of a guess: those of its user that may not be looked at and began after the connection. They can have it only from
  // somebody else.
  std::vector<pid_t> latecomers;
  // False when there was more to look at than may be, or when nobody who could be seen holds it and some descriptor is
  // on its way: then it may be others.
  bool is_complete = true;
  // Nobody was seen to hold it: these are all that may.
  bool is_guess = false;
  // Its socket belongs to a user as whom no process of this one's user can make one.
  bool is_of_another_user = false;
  // Of its socket; 0 when it is closed or being closed at that end.
  std::uint64_t inode = 0;
};

struct HolderBounds {
  // Of one connection, of those that are seen.
  std::size_t holders = 256;
  // Of all that are looked at.
  std::size_t processes = 100'000;
  std::size_t descriptors = 2'000'000;
  base::Milliseconds time = std::chrono::seconds(5);
};

// Looks through all processes, once for all of the connections: takes milliseconds, on a busy machine many. Not for a
// thread that others wait for.
std::vector<Holders> find_holders(std::span<const TcpConnection> connections, const HolderBounds& bounds = {});

// Of each connection the inode of the socket at its end `from`; 0 unless it is established and some process has it.
// Looked at again after its holders and all that is to be known of them: one that has been closed meanwhile may have
// been anybody's.
std::vector<std::uint64_t> find_inodes(std::span<const TcpConnection> connections);

}  // namespace reeve::os
