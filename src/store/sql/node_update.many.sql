UPDATE node_executions n SET status = r.status, attempt = r.attempt, iteration = r.iteration, resets = r.resets,
  edges_decided = r.edges_decided, edges_taken = r.edges_taken, edges = r.edges,
  inputs = CASE WHEN r.resets > n.resets THEN r.inputs ELSE COALESCE(r.inputs, n.inputs) END,
  outputs = CASE WHEN r.resets > n.resets THEN r.outputs ELSE COALESCE(r.outputs, n.outputs) END,
  error = CASE WHEN r.resets > n.resets THEN r.error ELSE COALESCE(r.error, n.error) END,
  not_before = r.not_before, daemon = r.daemon, epoch = r.epoch, spawned = r.spawned,
  started_at = CASE WHEN r.resets > n.resets OR r.begins = 1 THEN r.started_at
               ELSE COALESCE(n.started_at, r.started_at) END,
  completed_at = CASE WHEN n.status = r.status AND n.resets = r.resets THEN n.completed_at ELSE r.completed_at END,
  version = n.version + 1
FROM json_to_recordset(:rows::json) AS r (status node_status, attempt bigint, iteration bigint, resets bigint,
  edges_decided bigint, edges_taken bigint, edges text, inputs text, outputs text, error text, not_before text,
  daemon bigint, epoch bigint, spawned bigint, begins bigint, started_at text, completed_at text, slot bigint,
  version bigint, "from" node_status)
WHERE n.slot = r.slot AND n.version = r.version AND n.status = r."from"
