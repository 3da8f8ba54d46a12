#pragma once

#include "client/daemon.h"
#include "wire/prune_record.h"

namespace reeve::client {

struct PruneAnswer {
  // The response as received.
  base::Value wire;
  wire::PruneRecord record;
};
PruneAnswer prune(Daemon& daemon, const wire::PruneRequest& request);

}  // namespace reeve::client
