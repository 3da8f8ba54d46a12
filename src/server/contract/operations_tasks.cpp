#include "model/task.h"
#include "server/contract/operations.h"

// Contract of /api/tasks (ORC-6): read-only, and currently only imported tasks.
namespace reeve::server {

std::vector<Operation> task_operations(json::Schemas& schemas) {
  const base::Value task = schemas.of<model::Task>();
  return {{.method = "GET",
           .path = "/api/tasks",
           .name = "listTasks",
           .inside = InRunAccess::refused,
           .summary = "List tasks, newest first",
           .query = {words_parameter("status", base::spellings<model::TaskStatus>(), "only tasks with these statuses"),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "TaskPage", task)}}},
          {.method = "GET",
           .path = "/api/tasks/{id}",
           .name = "getTask",
           .inside = InRunAccess::refused,
           .summary = "Get a task",
           .replies = {{200, task}},
           .errors = {"task.not_found"},
           .is_tagged = true}};
}

}  // namespace reeve::server
