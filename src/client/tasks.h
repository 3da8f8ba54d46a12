#pragma once

#include "client/daemon.h"
#include "model/task.h"

// Requests about tasks.
namespace reeve::client {

struct TaskRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Task task;
};
TaskRecord get_task(Daemon& daemon, base::TaskId id);

}  // namespace reeve::client
