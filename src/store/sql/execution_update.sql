UPDATE executions SET status = :status, reason = :reason, nodes_ready = :ready, nodes_running = :running,
  nodes_waiting = :waiting, nodes_failed = :failed, exits_completed = :exits_completed, edges_taken = :edges_taken,
  completed_at = :completed_at, version = version + 1
WHERE number = :execution AND version = :version AND status = :from
