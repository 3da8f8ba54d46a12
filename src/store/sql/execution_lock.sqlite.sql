-- The one writer has locked everything.
SELECT workflow_hash, status, version, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed,
  edges_taken, parent, parent_node, depth, home
FROM executions WHERE number = :execution
