#pragma once

#include <optional>
#include <sys/types.h>

#include "project/state_folder.h"

// The daemon that holds a state folder, found by its lock: its socket may have been replaced, so that nobody can ask it
// anything.
namespace reeve::project {

// Nothing if the lock is free, or does not name a process.
std::optional<pid_t> find_lock_holder(const StateFolder& folder);

// Whether clients cannot reach the holder of the lock: another socket has taken the path of its own.
bool is_cut_off(const StateFolder& folder);

// Asks that process to leave with SIGTERM; its runs survive. The process is held by a descriptor meanwhile, and must
// run the program of this name, so that no other process that got the pid is ended. False if it is not such a process.
bool ask_to_leave(pid_t holder);

}  // namespace reeve::project
