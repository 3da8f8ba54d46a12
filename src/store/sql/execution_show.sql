SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
WHERE e.number = :execution
