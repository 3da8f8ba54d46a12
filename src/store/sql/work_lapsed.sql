-- What daemons hold whose lease is over, for another of this host.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon JOIN executions e ON e.number = n.execution
WHERE n.status = 'running' AND d.lease_until <= :now AND (e.home IS NULL OR e.home = :host OR d.host = :host)
ORDER BY n.slot LIMIT :most
