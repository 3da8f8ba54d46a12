#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"
#include "model/project_ref.h"

// A piece of work for an agent (SPEC §6).
namespace reeve::model {

enum class TaskStatus { slung, hooked, done, failed, cancelled };
REEVE_DESCRIBE_ENUM(TaskStatus, slung, hooked, done, failed, cancelled)

// ORC-6.
bool can_move(TaskStatus from, TaskStatus to) noexcept;
bool is_final(TaskStatus status) noexcept;

struct Task {
  base::TaskId task_id{0};
  // That of its execution.
  std::optional<ProjectRef> project = {};
  std::string title;
  std::optional<std::string> description;
  std::optional<std::string> role;
  int priority = 0;
  std::vector<base::TaskId> after;
  TaskStatus status = TaskStatus::slung;
  std::optional<base::AgentId> agent_id;
  std::optional<base::ExecutionId> execution_id;
  base::WallTime created_at;
  std::optional<base::WallTime> completed_at;
  friend bool operator==(const Task&, const Task&) = default;
};
BOOST_DESCRIBE_STRUCT(Task, (),
                      (task_id, project, title, description, role, priority, after, status, agent_id, execution_id,
                       created_at, completed_at))

}  // namespace reeve::model
