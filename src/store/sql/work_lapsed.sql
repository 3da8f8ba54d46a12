-- What daemons hold whose lease is over, for another of this host. What waits for a person is found by its run: of the
-- nodes that wait most are people's own, and nobody's claim.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon JOIN executions e ON e.number = n.execution
WHERE n.status = 'running' AND d.lease_until <= :now AND (e.home IS NULL OR e.home = :host OR d.host = :host)
UNION ALL
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM tool_runs r
  JOIN node_executions n ON n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
    AND n.status = 'waiting_approval' AND n.run = r.number
  JOIN daemons d ON d.number = n.daemon JOIN executions e ON e.number = n.execution
WHERE r.status = 'waiting_approval' AND r.execution IS NOT NULL
  AND d.lease_until <= :now AND (e.home IS NULL OR e.home = :host OR d.host = :host)
ORDER BY 1, 2 LIMIT :most
