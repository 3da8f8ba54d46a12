UPDATE executions e SET status = r.status, reason = r.reason, nodes_ready = r.ready, nodes_running = r.running,
  nodes_waiting = r.waiting, nodes_failed = r.failed, exits_completed = r.exits_completed, edges_taken = r.edges_taken,
  completed_at = r.completed_at, version = e.version + 1
FROM json_to_recordset(:rows::json) AS r (status execution_status, reason text, ready bigint, running bigint,
  waiting bigint, failed bigint, exits_completed bigint, edges_taken bigint, completed_at text, execution bigint,
  version bigint, "from" execution_status)
WHERE e.number = r.execution AND e.version = r.version AND e.status = r."from"
