#pragma once

#include <optional>
#include <vector>

#include "model/task.h"
#include "store/session.h"

// Tasks for display, read without a lock.
namespace reeve::store {

struct TaskFilter {
  // Empty: all.
  std::vector<model::TaskStatus> statuses = {};
  // Only entries before this one.
  std::optional<base::TaskId> before = {};
  std::int64_t most = 50;
};
// Newest first.
std::vector<model::Task> list_tasks(Session& session, const TaskFilter& filter);
std::optional<model::Task> find_task(Session& session, base::TaskId id);

}  // namespace reeve::store
