-- Never waits: two daemons that wait for each other's executions would do so for ever.
SELECT workflow_hash, status, version, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed,
  edges_taken, parent, parent_node, depth
FROM executions WHERE number = :execution FOR UPDATE SKIP LOCKED
