SELECT number, title, description, role, priority, after, status, agent, execution, created_at, completed_at
FROM tasks WHERE number < :before AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY number DESC LIMIT :most
