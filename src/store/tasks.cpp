#include "store/tasks.h"

#include <limits>

#include "store/stored_json.h"
#include "store/stored_project.h"

namespace reeve::store {

namespace {

model::Task read_task(const Row& row) {
  model::Task task;
  task.task_id = base::TaskId(row.integer(0));
  task.title = row.text(1);
  task.description = row.find_text(2);
  task.role = row.find_text(3);
  task.priority = static_cast<int>(row.integer(4));
  task.after = decode_stored<std::vector<base::TaskId>>(row.text(5));
  task.status = row.word<model::TaskStatus>(6);
  if (const auto agent = row.find_integer(7)) task.agent_id = base::AgentId(*agent);
  if (const auto execution = row.find_integer(8)) task.execution_id = base::ExecutionId(*execution);
  task.created_at = row.time(9);
  task.completed_at = row.find_time(10);
  task.project = find_project(row, 11);
  return task;
}

}  // namespace

std::vector<model::Task> list_tasks(Session& session, const TaskFilter& filter) {
  // ",slung,hooked,"
  std::string statuses;
  for (const model::TaskStatus status : filter.statuses) {
    statuses += statuses.empty() ? "," : "";
    statuses += base::spell(status);
    statuses += ',';
  }
  const std::int64_t before = filter.before ? filter.before->number() : std::numeric_limits<std::int64_t>::max();
  std::vector<model::Task> found;
  session.query(Sql::tasks_list, {{"before", before}, {"statuses", statuses}, {"most", filter.most}},
                [&](const Row& row) { found.push_back(read_task(row)); });
  return found;
}

std::optional<model::Task> find_task(Session& session, base::TaskId id) {
  std::optional<model::Task> found;
  session.query(Sql::task_load, {{"task", id.number()}}, [&](const Row& row) { found = read_task(row); });
  return found;
}

}  // namespace reeve::store
