#include "client/backup.h"

#include "json/describe.h"

namespace reeve::client {

BackupAnswer create_backup(Daemon& daemon, const std::filesystem::path& path) {
  const wire::BackupRequest request{.path = path.string()};
  BackupAnswer answer{.wire = daemon.post("/api/backup", json::to_value(request)), .record = {}};
  answer.record = decode<wire::BackupRecord>(answer.wire);
  return answer;
}

}  // namespace reeve::client
