#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/describe.h"
#include "wire/import_record.h"

// The result of `reeve state move` (SPEC §7).
namespace reeve::wire {

struct StateMoveRequest {
  // The absolute path of a project's own state folder, on the daemon's machine.
  std::string folder;
  friend bool operator==(const StateMoveRequest&, const StateMoveRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(StateMoveRequest, (), (folder))

// "TR-1" became "TR-41".
struct MovedId {
  std::string old_id;
  std::string new_id;
  friend bool operator==(const MovedId&, const MovedId&) = default;
};
BOOST_DESCRIBE_STRUCT(MovedId, (), (old_id, new_id))

struct StateMoveRecord {
  std::string folder;
  // Where the old folder is now.
  std::string set_aside;
  std::vector<ImportKind> kinds;
  std::vector<MovedId> ids;
  friend bool operator==(const StateMoveRecord&, const StateMoveRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(StateMoveRecord, (), (folder, set_aside, kinds, ids))

}  // namespace reeve::wire
