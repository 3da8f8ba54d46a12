SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at
FROM tasks WHERE number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY number DESC LIMIT :most
