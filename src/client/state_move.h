#pragma once

#include <filesystem>

#include "client/daemon.h"
#include "wire/state_move_record.h"

namespace reeve::client {

struct StateMoveAnswer {
  // The response as received.
  base::Value wire;
  wire::StateMoveRecord record;
};
// Brings the records of that state folder into the daemon's store. The path is absolute.
StateMoveAnswer move_state(Daemon& daemon, const std::filesystem::path& folder);

}  // namespace reeve::client
