-- Executions with something to begin, for a worker that has room.
SELECT DISTINCT execution FROM node_executions
WHERE status = 'ready' AND type IN ('task', 'gate') AND (not_before IS NULL OR not_before <= :now)
ORDER BY execution LIMIT :most
