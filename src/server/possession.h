#pragma once

#include <optional>

#include "os/claim.h"
#include "os/lock.h"
#include "project/state_folder.h"

// How a daemon takes its state folder, which has one daemon at a time.
namespace reeve::server {

// Proof that this daemon owns its folder.
struct Possession {
  std::optional<os::Claim> claim;
  os::FileLock lock;
};

// Whether a daemon that holds the folder may be asked to leave. One that systemd has activated listens at the folder's
// socket, so that nobody can reach another one, which the socket unit has cut off.
enum class Holder { stays, leaves };

// Throws `daemon.already_running` if another daemon has the folder and stays.
Possession take_possession(const project::StateFolder& folder, Holder holder);

// Writes the pid of this process into the lock, for people and `reeve stop`. Throws `daemon.state_folder`.
void write_pid(const os::FileLock& lock, const project::StateFolder& folder);

}  // namespace reeve::server
