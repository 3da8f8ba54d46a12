-- name: attempt_adopt
UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1
WHERE run = :run AND attempt = :attempt AND epoch = :epoch AND state <> 'ended'

-- name: attempt_end
UPDATE run_attempts SET state = 'ended', exit_code = :exit_code, signal = :signal, exec_errno = :exec_errno, ended_at = :now
WHERE run = :run AND attempt = :attempt AND state <> 'ended'

-- name: attempt_ending
UPDATE run_attempts SET ending = COALESCE(ending, :ending) WHERE run = :run AND attempt = :attempt AND state <> 'ended'

-- name: attempt_hold
-- Pauses its timeout while it waits for an answer (RUN-3).
UPDATE run_attempts SET deadline_ms = NULL, time_left_ms = :time_left_ms
WHERE run = :run AND attempt = :attempt AND state <> 'ended'

-- name: attempt_host
SELECT host FROM run_attempts WHERE run = :run AND attempt = :attempt

-- name: attempt_host_live
SELECT host FROM run_attempts WHERE run = :run AND attempt = :attempt AND state <> 'ended'

-- name: attempt_insert
INSERT INTO run_attempts (run, attempt, state, daemon, epoch, host, boot_id, keeper_pid, keeper_started, nonce, approval,
  deadline_ms, started_at)
VALUES (:run, :attempt, :state, :daemon, :epoch, :host, :boot_id, :keeper_pid, :keeper_started, :nonce, :approval,
  :deadline_ms, :now)

-- name: attempt_left_calls
-- The tool calls that the attempt left for the next one.
SELECT COUNT(*) FROM tool_calls WHERE run = :run AND attempt = :attempt AND outcome = 'deferred'

-- name: attempt_limit
UPDATE run_attempts SET deadline_ms = :deadline_ms, time_left_ms = :time_left_ms
WHERE run = :run AND attempt = :attempt AND state <> 'ended'

-- name: attempt_load
SELECT state, epoch, approval FROM run_attempts WHERE run = :run AND attempt = :attempt

-- name: attempt_progress
UPDATE run_attempts SET out_offset = :out_offset, err_offset = :err_offset,
  failure_marker = CASE WHEN :failure_marker = 1 THEN 1 ELSE failure_marker END,
  result = COALESCE(:result, result), deadline_ms = COALESCE(:deadline_ms, deadline_ms),
  time_left_ms = CASE WHEN COALESCE(:deadline_ms, -1) = -1 THEN time_left_ms ELSE NULL END
WHERE run = :run AND attempt = :attempt

-- name: attempt_reassign
UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1, host = :host, boot_id = :boot_id, keeper_pid = :keeper_pid,
  keeper_started = :keeper_started, nonce = :nonce, deadline_ms = :deadline_ms
WHERE run = :run AND attempt = :attempt AND epoch = :epoch AND state <> 'ended'

-- name: attempt_rehost
-- The old host is gone for good and no process is left, so the attempt has no boot id.
UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1, host = :host, boot_id = ''
WHERE run = :run AND attempt = :attempt

-- name: attempt_result
SELECT result FROM run_attempts WHERE run = :run AND attempt = :attempt

-- name: attempts_live
SELECT run, attempt, epoch, host, boot_id, keeper_pid, keeper_started, nonce, out_offset, err_offset, failure_marker,
  result, deadline_ms, ending, time_left_ms
FROM run_attempts WHERE state <> 'ended' ORDER BY run, attempt
