-- name: restored_branches_close
UPDATE branches SET is_open = 0 WHERE is_open = 1

-- name: restored_calls_deny
-- A call whose approval was voided above gets its answer.
UPDATE tool_calls SET answer = 'deny', answered_at = :now, reason = :reason
WHERE answer IS NULL AND approval IN (SELECT number FROM approvals WHERE status <> 'pending')

-- name: restored_grants
SELECT number FROM approvals WHERE status = 'approved' AND use = 'unused' ORDER BY number

-- name: restored_grants_void
UPDATE approvals SET use = 'void', settled = 1 WHERE status = 'approved' AND use = 'unused'

-- name: restored_is_bound
-- Whether the execution has processes, or worktrees in a repository.
SELECT (SELECT COUNT(*) FROM branches WHERE root = :execution AND is_open = 1)
  + (SELECT COUNT(*) FROM tool_runs r
      LEFT JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt AND a.state <> 'ended'
      WHERE r.execution = :execution AND (r.status = 'queued' OR r.status = 'running' OR r.status = 'stalled'
        OR (r.status = 'waiting_approval' AND a.run IS NOT NULL)))

-- name: restored_places_forget
DELETE FROM branch_places

-- name: restored_roots
SELECT number, status FROM executions
WHERE parent IS NULL AND (status = 'running' OR status = 'waiting_approval') ORDER BY number

-- name: restored_runs
-- Runs that have a process, or wait for something that does not come: all except those that only wait for a person.
SELECT r.number FROM tool_runs r
  LEFT JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt AND a.state <> 'ended'
WHERE r.status = 'queued' OR r.status = 'running' OR r.status = 'stalled'
  OR (r.status = 'waiting_approval' AND (a.run IS NOT NULL
    OR NOT EXISTS (SELECT 1 FROM approvals p WHERE p.run = r.number AND p.status = 'pending')))
ORDER BY r.number

-- name: restored_worktrees_forget
DELETE FROM worktrees

-- name: restored_standing
SELECT number FROM grants WHERE revoked_at IS NULL ORDER BY number
