-- What daemons hold whose lease is over.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon
WHERE n.status = 'running' AND d.lease_until <= :now
ORDER BY n.slot LIMIT :most
