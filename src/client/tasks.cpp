#include "client/tasks.h"

#include "client/pages.h"

namespace reeve::client {

TaskRecord get_task(Daemon& daemon, base::TaskId id) {
  base::Value wire = daemon.get(fmt::format("/api/tasks/{}", id.text()));
  auto task = decode<model::Task>(wire);
  return {.wire = std::move(wire), .task = std::move(task)};
}

}  // namespace reeve::client
