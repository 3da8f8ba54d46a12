-- Executions with something to begin, for a worker that has room.
SELECT DISTINCT n.execution FROM node_executions n JOIN executions e ON e.number = n.execution
WHERE n.status = 'ready' AND n.type IN ('task', 'gate') AND (n.not_before IS NULL OR n.not_before <= :now)
  AND n.execution > :after AND (e.home IS NULL OR e.home = :host)
ORDER BY n.execution LIMIT :most
