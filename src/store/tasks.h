#pragma once

#include <optional>
#include <vector>

#include "model/task.h"
#include "store/session.h"

// Tasks as they are shown. Without a lock: for those who only look.
namespace reeve::store {

struct TaskFilter {
  // None: all.
  std::vector<model::TaskStatus> statuses = {};
  // Only those before it.
  std::optional<base::TaskId> before = {};
  std::int64_t most = 50;
};
// Newest first.
std::vector<model::Task> list_tasks(Session& session, const TaskFilter& filter);
std::optional<model::Task> find_task(Session& session, base::TaskId id);

}  // namespace reeve::store
