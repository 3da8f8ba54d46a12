SELECT w.hash, w.definition
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash WHERE e.number = :execution
