-- Whether a run belongs to a node that does not run any more, or runs another (see runs_orphaned).
SELECT COUNT(*) FROM tool_runs r
WHERE r.number = :run AND r.node_id IS NOT NULL AND r.execution IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM node_executions n
    WHERE n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
      AND n.node_id = r.node_id AND (n.status = 'running' OR n.status = 'waiting_approval') AND n.run IS NOT NULL AND n.run <= r.number)
