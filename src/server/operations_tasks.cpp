#include "model/task.h"
#include "server/operations.h"

// /api/tasks as it is promised (ORC-6): for now what was imported, to be read.
namespace reeve::server {

std::vector<Operation> task_operations(json::Schemas& schemas) {
  const base::Value task = schemas.of<model::Task>();
  return {{.method = "GET",
           .path = "/api/tasks",
           .name = "listTasks",
           .inside = Inside::refused,
           .summary = "Newest first",
           .query = {words_parameter("status", base::spellings<model::TaskStatus>(), "only those"), limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "TaskPage", task)}}},
          {.method = "GET",
           .path = "/api/tasks/{id}",
           .name = "getTask",
           .inside = Inside::refused,
           .summary = "One task",
           .replies = {{200, task}},
           .errors = {"task.not_found"},
           .is_tagged = true}};
}

}  // namespace reeve::server
