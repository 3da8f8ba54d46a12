-- Runs of nodes that go on though their node does not. A gate of a task is a later run of the same node.
SELECT r.number FROM tool_runs r
WHERE (r.status = 'queued' OR r.status = 'running' OR r.status = 'stalled' OR r.status = 'waiting_approval')
  AND r.node_id IS NOT NULL AND r.execution IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM node_executions n
    WHERE n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
      AND n.node_id = r.node_id AND (n.status = 'running' OR n.status = 'waiting_approval') AND n.run IS NOT NULL AND n.run <= r.number)
ORDER BY r.number LIMIT :most
