-- Runs of nodes that are not over although their node is, or runs another; with the attempt that still lives, if one does.
-- A gate of a task is a later run of the same node. Left out are those that another host may still end itself.
SELECT r.number, a.attempt, a.epoch, a.host FROM tool_runs r
  LEFT JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt AND a.state <> 'ended'
  LEFT JOIN daemons d ON d.number = a.daemon
WHERE (r.status = 'queued' OR r.status = 'running' OR r.status = 'stalled' OR r.status = 'waiting_approval')
  AND r.node_id IS NOT NULL AND r.execution IS NOT NULL
  AND (a.run IS NULL OR a.host = :host OR d.lease_until <= :gone_since)
  AND NOT EXISTS (SELECT 1 FROM node_executions n
    WHERE n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
      AND n.node_id = r.node_id AND (n.status = 'running' OR n.status = 'waiting_approval') AND n.run IS NOT NULL AND n.run <= r.number)
ORDER BY r.number LIMIT :most
