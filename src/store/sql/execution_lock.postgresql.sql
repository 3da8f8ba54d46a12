-- Never waits: two daemons that wait for each other's executions would do so for ever. Not the key: a row that refers to
-- it can be written meanwhile.
SELECT workflow_hash, status, version, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed,
  edges_taken, parent, parent_node, depth, home
FROM executions WHERE number = :execution FOR NO KEY UPDATE SKIP LOCKED
