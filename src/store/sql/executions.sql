-- name: execution_children
SELECT number, status FROM executions WHERE parent = :parent

-- name: execution_correct
UPDATE executions SET workflow_hash = :workflow_hash, subgraphs = :subgraphs, inputs = :inputs, config = :config,
  exits_completed = :exits_completed, version = version + 1
WHERE number = :execution AND version = :version AND status = 'failed'

-- name: execution_exists
SELECT 1 FROM executions WHERE number = :execution

-- name: execution_home
UPDATE executions SET home = :host WHERE number = :execution

-- name: execution_insert [sqlite]
INSERT INTO executions (number, workflow_hash, subgraphs, label, phase_name, metadata, parent, parent_node, depth, status, inputs, config,
  home, started_at, project)
VALUES (:number, :workflow_hash, :subgraphs, :label, :phase_name, :metadata, :parent, :parent_node, :depth, 'running', :inputs, :config,
  :home, :now, COALESCE(:project, (SELECT project FROM executions WHERE number = :parent)))
RETURNING number

-- name: execution_insert [postgresql]
INSERT INTO executions (number, execution_id, workflow_hash, subgraphs, label, phase_name, metadata, parent, parent_node, depth, status,
  inputs, config, home, started_at, project)
VALUES (:number, 'EX-' || :number::bigint,
  :workflow_hash, :subgraphs, :label, :phase_name, :metadata, :parent, :parent_node, :depth, 'running', :inputs, :config, :home, :now,
  COALESCE(:project::text, (SELECT o.project FROM executions o WHERE o.number = :parent::bigint)))

-- name: execution_load
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at, e.inputs, e.config,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.number = :execution

-- name: execution_lock [sqlite]
-- No row lock is needed: the single writer holds the whole database.
SELECT workflow_hash, status, version, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed,
  edges_taken, parent, parent_node, depth, home, paused_at
FROM executions WHERE number = :execution

-- name: execution_lock [postgresql]
-- Never waits: two daemons that wait for each other's executions would deadlock. Does not lock the key, so that rows
-- that refer to the execution can be written meanwhile.
SELECT workflow_hash, status, version, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed,
  edges_taken, parent, parent_node, depth, home, paused_at
FROM executions WHERE number = :execution FOR NO KEY UPDATE SKIP LOCKED

-- name: execution_note
UPDATE executions SET reason = :reason, version = version + 1 WHERE number = :execution AND status = 'completed'

-- name: execution_origin
-- The data that the execution was started with; rarely needed.
SELECT inputs, subgraphs, label, config FROM executions WHERE number = :execution

-- name: execution_paused
SELECT COUNT(*) FROM executions WHERE number = :execution AND paused_at IS NOT NULL

-- name: execution_pause
-- With its subgraphs.
UPDATE executions SET paused_at = :paused_at
WHERE (status = 'running' OR status = 'waiting_approval') AND number IN (
  WITH RECURSIVE tree (number) AS (
    SELECT number FROM executions WHERE number = :execution
    UNION ALL
    SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
  )
  SELECT number FROM tree)

-- name: execution_root
WITH RECURSIVE line (number, parent, status, config) AS (
  SELECT number, parent, status, config FROM executions WHERE number = :execution
  UNION ALL
  SELECT e.number, e.parent, e.status, e.config FROM executions e JOIN line ON e.number = line.parent
)
SELECT number, status, config FROM line WHERE parent IS NULL

-- name: execution_runs
-- Its runs, and how many of them have ended.
SELECT COUNT(*), COUNT(completed_at) FROM tool_runs WHERE execution = :execution

-- name: execution_update
UPDATE executions SET status = :status, reason = :reason, nodes_ready = :ready, nodes_running = :running,
  nodes_waiting = :waiting, nodes_failed = :failed, exits_completed = :exits_completed, edges_taken = :edges_taken,
  completed_at = :completed_at, version = version + 1,
  paused_at = CASE WHEN COALESCE(:completed_at, '') = '' THEN paused_at ELSE NULL END
WHERE number = :execution AND version = :version AND status = :from

-- name: execution_update [many]
UPDATE executions e SET status = r.status, reason = r.reason, nodes_ready = r.ready, nodes_running = r.running,
  nodes_waiting = r.waiting, nodes_failed = r.failed, exits_completed = r.exits_completed, edges_taken = r.edges_taken,
  completed_at = r.completed_at, version = e.version + 1,
  paused_at = CASE WHEN r.completed_at IS NULL THEN e.paused_at ELSE NULL END
FROM json_to_recordset(:rows::json) AS r (status execution_status, reason text, ready bigint, running bigint,
  waiting bigint, failed bigint, exits_completed bigint, edges_taken bigint, completed_at text, execution bigint,
  version bigint, "from" execution_status)
WHERE e.number = r.execution AND e.version = r.version AND e.status = r."from"

-- name: execution_workflow
SELECT w.hash, w.definition
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash WHERE e.number = :execution

-- name: execution_seen
UPDATE executions SET seen_at = :now WHERE number = :execution AND status = 'failed'

-- name: executions_seen
UPDATE executions SET seen_at = :now
WHERE status = 'failed' AND seen_at IS NULL AND completed_at > :since
  AND (COALESCE(:project, '') = '' OR project = :project)

-- name: executions_counted
SELECT status, COUNT(*) FROM executions WHERE status = 'running' OR status = 'waiting_approval' GROUP BY status

-- name: executions_list [sqlite]
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.number < :before AND (:statuses = '' OR instr(:statuses, ',' || e.status || ',') > 0)
  AND (:label IS NULL OR e.label = :label)
  AND (:workflow IS NULL OR w.workflow_id = :workflow OR w.name = :workflow)
  AND (:start IS NULL OR substr(w.workflow_id, 1, length(:start)) = :start)
  AND (:project IS NULL OR e.project = :project) AND (:parts = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_list [postgresql]
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.number < :before
  AND (:statuses::text = '' OR position(',' || e.status::text || ',' in :statuses::text) > 0)
  AND (:label::text IS NULL OR e.label = :label::text)
  AND (:workflow::text IS NULL OR w.workflow_id = :workflow::text OR w.name = :workflow::text)
  AND (:start::text IS NULL OR starts_with(w.workflow_id, :start::text))
  AND (:project::text IS NULL OR e.project = :project::text) AND (:parts::bigint = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_list_alive [sqlite]
-- Only statuses of unfinished executions, which have an index.
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE (e.status = 'running' OR e.status = 'waiting_approval')
  AND e.number < :before AND instr(:statuses, ',' || e.status || ',') > 0
  AND (:label IS NULL OR e.label = :label)
  AND (:workflow IS NULL OR w.workflow_id = :workflow OR w.name = :workflow)
  AND (:start IS NULL OR substr(w.workflow_id, 1, length(:start)) = :start)
  AND (:project IS NULL OR e.project = :project) AND (:parts = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_list_alive [postgresql]
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE (e.status = 'running' OR e.status = 'waiting_approval')
  AND e.number < :before AND position(',' || e.status::text || ',' in :statuses::text) > 0
  AND (:label::text IS NULL OR e.label = :label::text)
  AND (:workflow::text IS NULL OR w.workflow_id = :workflow::text OR w.name = :workflow::text)
  AND (:start::text IS NULL OR starts_with(w.workflow_id, :start::text))
  AND (:project::text IS NULL OR e.project = :project::text) AND (:parts::bigint = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_list_failed [sqlite]
-- Only failed executions, which have an index.
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.status = 'failed'
  AND e.number < :before AND instr(:statuses, ',' || e.status || ',') > 0
  AND (:label IS NULL OR e.label = :label)
  AND (:workflow IS NULL OR w.workflow_id = :workflow OR w.name = :workflow)
  AND (:start IS NULL OR substr(w.workflow_id, 1, length(:start)) = :start)
  AND (:project IS NULL OR e.project = :project) AND (:parts = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_list_failed [postgresql]
SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.project, e.paused_at, e.seen_at,
  (SELECT COUNT(*) FROM patch_ledger q WHERE q.root = e.number AND q.branch_commit IS NOT NULL
    AND q.state IN ('validated', 'queued', 'apply_failed', 'conflicted'))
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.status = 'failed'
  AND e.number < :before AND position(',' || e.status::text || ',' in :statuses::text) > 0
  AND (:label::text IS NULL OR e.label = :label::text)
  AND (:workflow::text IS NULL OR w.workflow_id = :workflow::text OR w.name = :workflow::text)
  AND (:start::text IS NULL OR starts_with(w.workflow_id, :start::text))
  AND (:project::text IS NULL OR e.project = :project::text) AND (:parts::bigint = 1 OR e.parent IS NULL)
ORDER BY e.number DESC LIMIT :most

-- name: executions_over [sqlite]
SELECT number, status FROM executions
WHERE number IN (SELECT value FROM json_each(:numbers)) AND status NOT IN ('running', 'waiting_approval')

-- name: executions_over [postgresql]
SELECT number, status FROM executions
WHERE number IN (SELECT value::bigint FROM json_array_elements_text(:numbers::json))
  AND status NOT IN ('running', 'waiting_approval')

-- name: gate_runs_of_root
-- The gate runs of an execution and all its subgraphs, newest first. Only Reeve writes `metadata` of these.
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT r.number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, r.project, r.paused_at, r.seen_at, r.not_before
FROM tree JOIN tool_runs r ON r.execution = tree.number
WHERE r.metadata LIKE '%"gate":%'
ORDER BY r.number DESC LIMIT :most

-- name: gates_of_root
-- The finished gates of an execution and all its subgraphs.
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT n.node_id, n.status, n.outputs
FROM tree JOIN node_executions n ON n.slot BETWEEN tree.number * 1048576 AND tree.number * 1048576 + 1048575
WHERE n.type = 'gate' AND (n.status = 'completed' OR n.status = 'failed')

-- name: loop_load
SELECT iteration_count FROM loop_counters WHERE execution = :execution AND edge = :edge

-- name: loop_write
INSERT INTO loop_counters (execution, edge, loop_key, iteration_count)
VALUES (:execution, :edge, :loop_key, :count)
ON CONFLICT (execution, edge) DO UPDATE SET iteration_count = excluded.iteration_count

-- name: workflow_find
SELECT definition FROM workflows WHERE hash = :hash

-- name: workflow_insert
INSERT INTO workflows (hash, workflow_id, name, version, definition, created_at)
VALUES (:hash, :workflow_id, :name, :version, :definition, :now)
ON CONFLICT (hash) DO NOTHING

-- name: workflow_versions
SELECT hash, workflow_id, name, version, created_at FROM workflows
WHERE (workflow_id = :workflow OR name = :workflow) AND (created_at < :before OR (created_at = :before AND hash < :hash))
ORDER BY created_at DESC, hash DESC LIMIT :most
