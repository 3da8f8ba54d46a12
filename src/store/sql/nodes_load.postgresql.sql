SELECT node, status, attempt, iteration, version, resets, edges_decided, edges_taken, edges, inputs, outputs, not_before,
  daemon, epoch, spawned, run, approval, child
FROM node_executions WHERE slot = ANY (translate(:slots, '[]', '{}')::bigint[])
