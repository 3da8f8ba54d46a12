-- name: approval_awaited
SELECT 1 FROM node_executions WHERE slot = :slot AND status = 'waiting_approval' AND approval = :approval

-- name: execution_history
SELECT n.node_id, n.type, h.status, h.attempt, h.iteration, h.error, h.run, h.approval, h.child, h.started_at,
  h.completed_at, h.archived_at, h.inputs, h.outputs
FROM node_history h JOIN node_executions n ON n.slot = h.slot
WHERE h.slot BETWEEN :first AND :last ORDER BY h.archived_at, h.iteration, h.slot

-- name: execution_nodes
SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs
FROM node_executions WHERE slot BETWEEN :first AND :last ORDER BY slot

-- name: execution_nodes_brief
SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before
FROM node_executions WHERE slot BETWEEN :first AND :last ORDER BY slot

-- name: execution_nodes_page [sqlite]
SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs, slot
FROM node_executions WHERE slot > :after AND slot <= :last
  AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY slot LIMIT :most

-- name: execution_nodes_page [postgresql]
SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs, slot
FROM node_executions WHERE slot > :after AND slot <= :last
  AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY slot LIMIT :most

-- name: node_adopt
UPDATE node_executions SET daemon = :daemon, epoch = epoch + 1, version = version + 1
WHERE slot = :slot AND (status = 'running' OR status = 'waiting_approval') AND epoch = :epoch

-- name: node_archive
INSERT INTO node_history (slot, iteration, attempt, status, inputs, outputs, error, run, approval, child, started_at,
  completed_at, archived_at)
SELECT slot, :iteration, :attempt, :status, :inputs, :outputs, COALESCE(:error, error), run, approval, child, started_at,
  COALESCE(completed_at, :now), :now
FROM node_executions WHERE slot = :slot

-- name: node_claim
SELECT status, iteration, attempt, epoch, spawned FROM node_executions WHERE slot = :slot

-- name: node_link
-- Separate from node_update, because links rarely change and each is a foreign key that is checked when written.
UPDATE node_executions SET run = :run, approval = :approval, child = :child WHERE slot = :slot

-- name: node_load
SELECT node, status, attempt, iteration, version, resets, edges_decided, edges_taken, edges, inputs, outputs, not_before,
  daemon, epoch, spawned, run, approval, child
FROM node_executions WHERE slot = :slot

-- name: node_spawned
UPDATE node_executions SET spawned = 1, run = :run, version = version + 1
WHERE slot = :slot AND status = 'running' AND iteration = :iteration AND attempt = :attempt AND epoch = :epoch

-- name: node_take_over
UPDATE node_executions SET daemon = :daemon, epoch = epoch + 1, version = version + 1
WHERE slot = :slot AND status = 'running' AND epoch = :epoch AND spawned = 0

-- name: node_update
UPDATE node_executions SET status = :status, attempt = :attempt, iteration = :iteration, resets = :resets,
  edges_decided = :edges_decided, edges_taken = :edges_taken, edges = :edges,
  inputs = CASE WHEN :resets > resets THEN :inputs ELSE COALESCE(:inputs, inputs) END,
  outputs = CASE WHEN :resets > resets THEN :outputs ELSE COALESCE(:outputs, outputs) END,
  error = CASE WHEN :resets > resets THEN :error ELSE COALESCE(:error, error) END,
  not_before = :not_before, daemon = :daemon, epoch = :epoch, spawned = :spawned,
  started_at = CASE WHEN :resets > resets OR :begins = 1 THEN :started_at ELSE COALESCE(started_at, :started_at) END,
  completed_at = CASE WHEN status = :status AND resets = :resets THEN completed_at ELSE :completed_at END,
  version = version + 1
WHERE slot = :slot AND version = :version AND status = :from

-- name: node_update [many]
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

-- name: nodes_append [sqlite]
-- Nodes that a correction has added, after the others.
INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution * 1048576 + :first + key, :execution, :first + key, json_extract(value, '$[0]'),
  json_extract(value, '$[1]')
FROM json_each(:nodes)

-- name: nodes_append [postgresql]
INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution::bigint * 1048576 + :first::bigint + n.position - 1, :execution::bigint, :first::bigint + n.position - 1,
  n.words ->> 0, (n.words ->> 1)::node_type
FROM json_array_elements(:nodes::json) WITH ORDINALITY AS n (words, position)

-- name: nodes_cancel_pending
UPDATE node_executions SET status = 'cancelled', completed_at = :now, version = version + 1
WHERE slot BETWEEN :first AND :last AND status = 'pending'
RETURNING node, iteration, attempt

-- name: nodes_insert [sqlite]
INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution * 1048576 + key, :execution, key, json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:nodes)

-- name: nodes_insert [postgresql]
INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution::bigint * 1048576 + n.position - 1, :execution::bigint, n.position - 1, n.words ->> 0,
  (n.words ->> 1)::node_type
FROM json_array_elements(:nodes::json) WITH ORDINALITY AS n (words, position)

-- name: nodes_live
SELECT node FROM node_executions
WHERE (status = 'ready' OR status = 'running' OR status = 'waiting_approval') AND slot BETWEEN :first AND :last
ORDER BY slot

-- name: nodes_load [sqlite]
SELECT node, status, attempt, iteration, version, resets, edges_decided, edges_taken, edges, inputs, outputs, not_before,
  daemon, epoch, spawned, run, approval, child
FROM node_executions WHERE slot IN (SELECT value FROM json_each(:slots))

-- name: nodes_load [postgresql]
SELECT node, status, attempt, iteration, version, resets, edges_decided, edges_taken, edges, inputs, outputs, not_before,
  daemon, epoch, spawned, run, approval, child
FROM node_executions WHERE slot = ANY (translate(:slots, '[]', '{}')::bigint[])

-- name: nodes_ready
SELECT node FROM node_executions
WHERE status = 'ready' AND slot BETWEEN :first AND :last AND (not_before IS NULL OR not_before <= :now)
ORDER BY slot LIMIT :most

-- name: work_begun
-- The claims on an execution's nodes.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon
WHERE n.slot BETWEEN :first AND :last
  AND (n.status = 'running' OR n.status = 'waiting_approval')
ORDER BY n.node

-- name: work_lapsed
-- Claims of daemons whose lease has expired, for another daemon of this host. Waiting claims are found by their run,
-- because most waiting nodes are human nodes without a claim.
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM node_executions n JOIN daemons d ON d.number = n.daemon JOIN executions e ON e.number = n.execution
WHERE n.status = 'running' AND d.lease_until <= :now AND (e.home IS NULL OR e.home = :host OR d.host = :host)
UNION ALL
SELECT n.execution, n.node, n.iteration, n.attempt, n.epoch, n.spawned, d.number, d.host, d.lease_until
FROM tool_runs r
  JOIN node_executions n ON n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
    AND n.status = 'waiting_approval' AND n.run = r.number
  JOIN daemons d ON d.number = n.daemon JOIN executions e ON e.number = n.execution
WHERE r.status = 'waiting_approval' AND r.execution IS NOT NULL
  AND d.lease_until <= :now AND (e.home IS NULL OR e.home = :host OR d.host = :host)
ORDER BY 1, 2 LIMIT :most

-- name: work_next_ready
-- When the next delayed retry may start.
SELECT MIN(not_before) FROM node_executions WHERE status = 'ready' AND not_before > :now

-- name: work_ready
-- Executions with nodes to start, for a worker with free slots.
SELECT DISTINCT n.execution FROM node_executions n JOIN executions e ON e.number = n.execution
WHERE n.status = 'ready' AND n.type IN ('task', 'gate') AND (n.not_before IS NULL OR n.not_before <= :now)
  AND n.execution > :after AND (e.home IS NULL OR e.home = :host) AND e.paused_at IS NULL
ORDER BY n.execution LIMIT :most
