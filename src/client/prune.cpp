#include "client/prune.h"

#include "json/describe.h"

namespace reeve::client {

PruneAnswer prune(Daemon& daemon, const wire::PruneRequest& request) {
  PruneAnswer answer{.wire = daemon.post("/api/prune", json::to_value(request)), .record = {}};
  answer.record = decode<wire::PruneRecord>(answer.wire);
  return answer;
}

}  // namespace reeve::client
