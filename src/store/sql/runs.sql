-- name: run_attempt
UPDATE tool_runs SET attempt = :attempt, paused_at = NULL, version = version + 1 WHERE number = :run

-- name: run_enqueue
UPDATE tool_runs SET queue_host = :host, queue_nonce = :nonce, priority = :priority, reason = :reason
WHERE number = :run

-- name: run_insert [sqlite]
INSERT INTO tool_runs (number, tool_name, execution, node_id, agent, status, argv, cwd, metadata, created_at, project,
  launch)
VALUES (:number, :tool_name, :execution, :node_id, :agent, 'queued', :argv, :cwd, :metadata, :now,
  COALESCE(:project, (SELECT project FROM executions WHERE number = :execution)), :launch)
RETURNING number

-- name: run_insert [postgresql]
INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, agent, status, argv, cwd, metadata,
  created_at, project, launch)
VALUES (:number, 'TR-' || :number::bigint, 'EX-' || :execution::bigint,
  :tool_name, :execution, :node_id, :agent, 'queued', :argv, :cwd, :metadata, :now,
  COALESCE(:project::text, (SELECT e.project FROM executions e WHERE e.number = :execution::bigint)), :launch)

-- name: run_insert [many]
INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, agent, status, argv,
  cwd, metadata, created_at, project, launch)
SELECT r.number, 'TR-' || r.number, 'EX-' || r.execution, r.tool_name, r.execution, r.node_id, r.agent,
  'queued', r.argv, r.cwd, r.metadata, r.now,
  COALESCE(r.project, (SELECT e.project FROM executions e WHERE e.number = r.execution)), r.launch
FROM json_to_recordset(:rows::json) AS r (number bigint, tool_name text, execution bigint, node_id text,
  agent bigint, argv text, cwd text, metadata text, now text, project text, launch text)

-- name: run_launch
SELECT launch FROM tool_runs WHERE number = :run

-- name: run_load
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs WHERE number = :run

-- name: run_lock [sqlite]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs WHERE number = :run

-- name: run_lock [postgresql]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs WHERE number = :run FOR NO KEY UPDATE SKIP LOCKED

-- name: run_move
UPDATE tool_runs SET status = :status, reason = :reason, outcome = :outcome, exit_code = :exit_code, attempt = :attempt,
  started_at = COALESCE(started_at, :started_at), completed_at = :completed_at, duration_ms = :duration_ms,
  last_error = COALESCE(:last_error, last_error), not_before = :not_before, paused_at = :paused_at, version = version + 1
WHERE number = :run AND version = :version AND status = :from

-- name: run_orphaned
-- Whether a run belongs to a node that no longer runs, or has another run (see runs_orphaned).
SELECT COUNT(*) FROM tool_runs r
WHERE r.number = :run AND r.node_id IS NOT NULL AND r.execution IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM node_executions n
    WHERE n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
      AND n.node_id = r.node_id AND (n.status = 'running' OR n.status = 'waiting_approval') AND n.run IS NOT NULL AND n.run <= r.number)

-- name: run_pause
UPDATE tool_runs SET paused_at = :paused_at, version = version + 1 WHERE number = :run AND version = :version

-- name: run_progress
UPDATE tool_runs SET last_output_at = COALESCE(:last_output_at, last_output_at),
  last_heartbeat_at = COALESCE(:last_heartbeat_at, last_heartbeat_at), last_error = COALESCE(:last_error, last_error),
  progress = COALESCE(:progress, progress), usage = COALESCE(:usage, usage), tool_errors = COALESCE(:tool_errors, tool_errors)
WHERE number = :run

-- name: run_seen
UPDATE tool_runs SET seen_at = :now, version = version + 1
WHERE number = :run AND (status = 'failed' OR status = 'failed_timeout')

-- name: runs_seen
UPDATE tool_runs SET seen_at = :now, version = version + 1
WHERE (status = 'failed' OR status = 'failed_timeout') AND seen_at IS NULL AND completed_at > :since
  AND (COALESCE(:project, '') = '' OR project = :project)

-- name: runs_counted
SELECT status, COUNT(*) FROM tool_runs
WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval'
GROUP BY status

-- name: runs_in_queue
SELECT number, status, priority, queue_nonce FROM tool_runs
WHERE queue_host = :host
  AND (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
ORDER BY number

-- name: runs_list [sqlite]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY number DESC LIMIT :most

-- name: runs_list [postgresql]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE number < :before AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY number DESC LIMIT :most

-- name: runs_list_alive [sqlite]
-- Only statuses of unfinished runs, which have an index.
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
  AND number < :before AND instr(:statuses, ',' || status || ',') > 0 AND (:project IS NULL OR project = :project)
ORDER BY number DESC LIMIT :most

-- name: runs_list_alive [postgresql]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
  AND number < :before AND position(',' || status::text || ',' in :statuses::text) > 0
  AND (:project::text IS NULL OR project = :project::text)
ORDER BY number DESC LIMIT :most

-- name: runs_list_failed [sqlite]
-- Only statuses of failed runs, which have an index.
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE (status = 'failed' OR status = 'failed_timeout')
  AND number < :before AND instr(:statuses, ',' || status || ',') > 0
ORDER BY number DESC LIMIT :most

-- name: runs_list_failed [postgresql]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE (status = 'failed' OR status = 'failed_timeout')
  AND number < :before AND position(',' || status::text || ',' in :statuses::text) > 0
ORDER BY number DESC LIMIT :most

-- name: runs_list_of_project [sqlite]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE project = :project AND number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY number DESC LIMIT :most

-- name: runs_list_of_project [postgresql]
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs
WHERE project = :project::text AND number < :before
  AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY number DESC LIMIT :most

-- name: runs_of_execution
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs WHERE execution = :execution ORDER BY number

-- name: runs_of_node
SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, project, paused_at, seen_at
FROM tool_runs WHERE execution = :execution AND node_id = :node_id ORDER BY number DESC LIMIT :most

-- name: runs_of_tree
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT r.number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version, r.project, r.paused_at, r.seen_at
FROM tree JOIN tool_runs r ON r.execution = tree.number
ORDER BY r.number LIMIT :most

-- name: runs_of_tree_elsewhere
-- The runs of an execution and its subgraphs that another daemon holds.
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT r.number FROM tree JOIN tool_runs r ON r.execution = tree.number
  JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt AND a.state <> 'ended' AND a.daemon <> :daemon
WHERE r.status = 'running' OR r.status = 'stalled' OR r.status = 'waiting_approval'
ORDER BY r.number LIMIT :most

-- name: runs_orphaned
-- Unfinished runs whose node has ended or has another run, with the live attempt, if any. A gate of a task is a later
-- run of the same node. Runs that another host may still end itself are left out.
SELECT r.number, a.attempt, a.epoch, a.host FROM tool_runs r
  LEFT JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt AND a.state <> 'ended'
  LEFT JOIN daemons d ON d.number = a.daemon
WHERE (r.status = 'queued' OR r.status = 'running' OR r.status = 'stalled' OR r.status = 'waiting_approval')
  AND r.node_id IS NOT NULL AND r.execution IS NOT NULL
  AND (a.run IS NULL OR a.host = :host OR d.lease_until <= :gone_since)
  AND NOT EXISTS (SELECT 1 FROM node_executions n
    WHERE n.slot BETWEEN r.execution * 1048576 AND r.execution * 1048576 + 1048575
      AND n.node_id = r.node_id AND (n.status = 'running' OR n.status = 'waiting_approval') AND n.run IS NOT NULL AND n.run <= r.number)
ORDER BY r.number LIMIT :most

-- name: runs_paused
-- The paused runs that the daemon holds.
SELECT r.number FROM run_attempts a JOIN tool_runs r ON r.number = a.run AND r.attempt = a.attempt
WHERE a.state <> 'ended' AND a.daemon = :daemon AND r.paused_at IS NOT NULL ORDER BY r.number

-- name: work_unfinished
SELECT (SELECT COUNT(*) FROM tool_runs
    WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
  + (SELECT COUNT(*) FROM executions WHERE status = 'running' OR status = 'waiting_approval')
  + (SELECT COUNT(*) FROM approvals WHERE status = 'pending')
