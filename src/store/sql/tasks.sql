-- name: task_load
SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at,
  (SELECT e.project FROM executions e WHERE e.number = tasks.execution)
FROM tasks WHERE number = :task

-- name: tasks_list [sqlite]
SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at,
  (SELECT e.project FROM executions e WHERE e.number = tasks.execution)
FROM tasks WHERE number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY number DESC LIMIT :most

-- name: tasks_list [postgresql]
SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at,
  (SELECT e.project FROM executions e WHERE e.number = tasks.execution)
FROM tasks WHERE number < :before AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY number DESC LIMIT :most
