-- Who works on an execution.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon
WHERE n.slot BETWEEN :first AND :last
  AND (n.status = 'running' OR n.status = 'waiting_approval')
ORDER BY n.node
