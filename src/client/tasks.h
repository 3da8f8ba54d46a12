#pragma once

#include "client/daemon.h"
#include "model/task.h"

// What a client asks of tasks.
namespace reeve::client {

struct TaskRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  model::Task task;
};
TaskRecord get_task(Daemon& daemon, base::TaskId id);

}  // namespace reeve::client
