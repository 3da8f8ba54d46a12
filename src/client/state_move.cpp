#include "client/state_move.h"

#include "json/describe.h"

namespace reeve::client {

StateMoveAnswer move_state(Daemon& daemon, const std::filesystem::path& folder) {
  const wire::StateMoveRequest request{.folder = folder.string()};
  StateMoveAnswer answer{.wire = daemon.post("/api/state/move", json::to_value(request)), .record = {}};
  answer.record = decode<wire::StateMoveRecord>(answer.wire);
  return answer;
}

}  // namespace reeve::client
