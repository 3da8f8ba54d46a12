-- name: event_oldest
SELECT at FROM events ORDER BY seq LIMIT 1

-- name: events_floor
-- The start of the oldest work that is not finished; null if there is none.
SELECT MIN(t.at) FROM (
  SELECT MIN(created_at) AS at FROM tool_runs
    WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval'
  UNION ALL SELECT MIN(started_at) FROM executions WHERE status = 'running' OR status = 'waiting_approval'
  UNION ALL SELECT MIN(created_at) FROM approvals WHERE status = 'pending'
) AS t

-- name: events_prune
DELETE FROM events WHERE seq <= :upto

-- name: events_pruned
SELECT value FROM counters WHERE name = 'events_pruned'

-- name: events_pruned_set
UPDATE counters SET value = :upto WHERE name = 'events_pruned' AND value <= :upto

-- name: events_window
SELECT seq, at FROM events WHERE seq > :after ORDER BY seq LIMIT :most

-- name: execution_kept
-- How much of the execution, or of what was made on its branch, is not finished.
SELECT (SELECT COUNT(*) FROM executions WHERE number = :execution AND (status = 'running' OR status = 'waiting_approval'))
  + (SELECT COUNT(*) FROM tool_runs WHERE execution = :execution
      AND (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval'))
  + (SELECT COUNT(*) FROM approvals WHERE execution = :execution AND (status = 'pending' OR settled = 0))
  + (SELECT COUNT(*) FROM patch_ledger WHERE (execution = :execution OR root = :execution)
      AND state <> 'committed' AND state <> 'rejected' AND state <> 'rolled_back' AND state <> 'dropped')
  + (SELECT COUNT(*) FROM branches WHERE root = :execution AND is_open = 1)
  + (SELECT COUNT(*) FROM branch_places WHERE root = :execution)
  + (SELECT COUNT(*) FROM worktrees WHERE root = :execution)
  + (SELECT COUNT(*) FROM tasks WHERE execution = :execution AND (status = 'slung' OR status = 'hooked'))

-- name: execution_next
SELECT number, started_at FROM executions WHERE number > :after ORDER BY number LIMIT 1

-- name: execution_top
WITH RECURSIVE line (number, parent) AS (
  SELECT number, parent FROM executions WHERE number = :execution
  UNION ALL
  SELECT e.number, e.parent FROM executions e JOIN line ON e.number = line.parent
)
SELECT number FROM line WHERE parent IS NULL

-- name: execution_tree
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :execution
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT number FROM tree ORDER BY number

-- name: executions_old
SELECT number FROM executions
WHERE number > :after AND number <= :upto AND parent IS NULL AND completed_at < :before
  AND (:keep_failed = 0 OR status <> 'failed')
ORDER BY number LIMIT :most

-- name: prune_approvals_of_execution
DELETE FROM approvals WHERE execution = :execution
  OR run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_approvals_of_run
DELETE FROM approvals WHERE run = :run

-- name: prune_agent_sessions_of_execution
DELETE FROM agent_sessions WHERE run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_agent_sessions_of_run
DELETE FROM agent_sessions WHERE run = :run

-- name: prune_attempts_of_execution
DELETE FROM run_attempts WHERE run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_attempts_of_run
DELETE FROM run_attempts WHERE run = :run

-- name: prune_begin
INSERT INTO prunes (number, begun_at, held_until, asked_by) VALUES (:number, :now, :until, :actor)
RETURNING number

-- name: prune_branch
DELETE FROM branches WHERE root = :execution

-- name: prune_calls_of_execution
DELETE FROM tool_calls WHERE run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_calls_of_run
DELETE FROM tool_calls WHERE run = :run

-- name: prune_end
UPDATE prunes SET ended_at = :now, held_until = :now, counts = :counts WHERE number = :number AND ended_at IS NULL

-- name: prune_execution
DELETE FROM executions WHERE number = :execution

-- name: prune_grants_of_execution
DELETE FROM grants WHERE execution = :execution OR run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_grants_of_run
-- Grants for a project outlive the run that they were made in.
DELETE FROM grants WHERE run = :run

-- name: prune_held
SELECT COUNT(*) FROM prunes WHERE ended_at IS NULL AND held_until > :now

-- name: prune_history
DELETE FROM node_history WHERE slot BETWEEN CAST(:execution AS bigint) * 1048576
  AND CAST(:execution AS bigint) * 1048576 + 1048575

-- name: prune_hold
UPDATE prunes SET held_until = :until WHERE number = :number AND ended_at IS NULL

-- name: prune_last
SELECT MAX(begun_at) FROM prunes

-- name: prune_loops
DELETE FROM loop_counters WHERE execution = :execution

-- name: prune_nodes
DELETE FROM node_executions WHERE slot BETWEEN CAST(:execution AS bigint) * 1048576
  AND CAST(:execution AS bigint) * 1048576 + 1048575

-- name: prune_patches
DELETE FROM patch_ledger WHERE execution = :execution OR root = :execution

-- name: prune_phases
DELETE FROM phase_records WHERE execution = :execution

-- name: prune_question
DELETE FROM approvals WHERE number = :approval

-- name: prune_recoveries_of_execution
DELETE FROM recovery_events WHERE run IN (SELECT number FROM tool_runs WHERE execution = :execution)

-- name: prune_recoveries_of_run
DELETE FROM recovery_events WHERE run = :run

-- name: prune_run
DELETE FROM tool_runs WHERE number = :run

-- name: prune_runs_of_execution
DELETE FROM tool_runs WHERE execution = :execution

-- name: prune_turn
-- Locks the row, so that two daemons cannot begin at once.
UPDATE counters SET value = value WHERE name = 'events_pruned'

-- name: prunes_forget
DELETE FROM prunes WHERE ended_at < :before

-- name: questions_old
-- Answered questions that belong to no run and to no execution.
SELECT number FROM approvals
WHERE asked_by IS NOT NULL AND status <> 'pending' AND settled = 1 AND decided_at < :before
ORDER BY decided_at LIMIT :most

-- name: removal_delete
DELETE FROM removals WHERE number = :number

-- name: removals_load
SELECT number, kind, subject, project, root, commit_hash FROM removals
WHERE number > :after AND (host = :host OR :any_host = 1) ORDER BY number LIMIT :most

-- name: removals_of_branch
INSERT INTO removals (kind, subject, host, project, root, commit_hash)
SELECT 'branch', root, host, project, root, tip FROM branches WHERE root = :execution

-- name: removals_of_execution
INSERT INTO removals (kind, subject, host)
SELECT 'run', a.run, a.host FROM run_attempts a JOIN tool_runs r ON r.number = a.run
WHERE r.execution = :execution AND a.host IS NOT NULL GROUP BY a.run, a.host

-- name: removals_of_patches
INSERT INTO removals (kind, subject, host, project, root, commit_hash)
SELECT 'patch', p.number, b.host, b.project, b.root, p.commit_hash
FROM patch_ledger p JOIN branches b ON b.root = p.root WHERE p.root = :execution AND p.commit_hash <> ''

-- name: removals_of_run
INSERT INTO removals (kind, subject, host)
SELECT 'run', a.run, a.host FROM run_attempts a WHERE a.run = :run AND a.host IS NOT NULL GROUP BY a.run, a.host

-- name: removals_of_unstarted_run
INSERT INTO removals (kind, subject, host)
SELECT 'run', r.number, CAST(:host AS text) FROM tool_runs r
WHERE r.number = :run AND NOT EXISTS (SELECT 1 FROM run_attempts a WHERE a.run = r.number AND a.host IS NOT NULL)

-- name: run_next
SELECT number, created_at FROM tool_runs WHERE number > :after ORDER BY number LIMIT 1

-- name: run_output_removed
UPDATE tool_runs SET output_removed_at = :now WHERE number = :run

-- name: runs_count_of_execution
SELECT COUNT(*) FROM tool_runs WHERE execution = :execution

-- name: runs_old
SELECT r.number FROM tool_runs r
WHERE r.number > :after AND r.number <= :upto AND r.execution IS NULL AND r.completed_at < :before
  AND (:keep_failed = 0 OR (r.status <> 'failed' AND r.status <> 'failed_timeout'))
  AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run = r.number AND (a.status = 'pending' OR a.settled = 0))
ORDER BY r.number LIMIT :most

-- name: runs_old_output
SELECT r.number, r.execution FROM tool_runs r
WHERE r.number > :after AND r.number <= :upto AND r.output_removed_at IS NULL AND r.completed_at < :before
  AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run = r.number AND (a.status = 'pending' OR a.settled = 0))
ORDER BY r.number LIMIT :most

-- name: tasks_leave_execution
UPDATE tasks SET execution = NULL WHERE execution = :execution
