#include "client/import.h"

#include "json/describe.h"

namespace reeve::client {

ImportAnswer import_database(Daemon& daemon, const std::filesystem::path& path, bool is_dry_run) {
  const wire::ImportRequest request{.path = path.string(), .dry_run = is_dry_run};
  ImportAnswer answer{.wire = daemon.post("/api/import", json::to_value(request)), .record = {}};
  answer.record = decode<wire::ImportRecord>(answer.wire);
  return answer;
}

}  // namespace reeve::client
