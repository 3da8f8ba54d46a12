#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "model/describe.h"

namespace reeve::wire {

struct BackupRequest {
  // Absolute, on the daemon's machine.
  std::string path;
  friend bool operator==(const BackupRequest&, const BackupRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(BackupRequest, (), (path))

// The result of `reeve backup`.
struct BackupRecord {
  std::string path;
  // SHA-256 of the list of digests in it, for `reeve restore --digest`.
  std::string digest;
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  base::WallTime created_at = {};
  friend bool operator==(const BackupRecord&, const BackupRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(BackupRecord, (), (path, digest, bytes, files, created_at))

// The result of `reeve restore`.
struct RestoreRecord {
  std::string path;
  std::string state;
  std::string digest;
  std::int64_t bytes = 0;
  std::int64_t files = 0;
  friend bool operator==(const RestoreRecord&, const RestoreRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(RestoreRecord, (), (path, state, digest, bytes, files))

}  // namespace reeve::wire
