SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at
FROM tasks WHERE number = :task
