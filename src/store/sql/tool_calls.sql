-- name: call_answer
-- Answers a call that waits, once.
UPDATE tool_calls SET answer = :answer, answered_at = :now, decided_by = :decided_by, reason = COALESCE(:reason, reason)
WHERE number = :call AND answer IS NULL AND (outcome IS NULL OR outcome = 'deferred')

-- name: call_begin
UPDATE tool_calls SET begun_at = :now, child_run = :child
WHERE number = :call AND hosted = 1 AND answer = 'allow' AND taken_attempt = :attempt AND begun_at IS NULL
  AND outcome IS NULL

-- name: call_continue
-- The attempt that resumes the run asks again.
UPDATE tool_calls SET attempt = :attempt, native_id = :native_id, parent_native_id = :parent_native_id,
  session_id = :session_id, channel = :channel, may_defer = :may_defer, hosted = :hosted, outcome = NULL
WHERE number = :call AND outcome = 'deferred' AND attempt < :attempt AND taken_attempt IS NULL

-- name: call_deferred
-- A call that an earlier attempt left, with the same content; the one of that name first, then the oldest.
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE run = :run AND arguments_digest = :digest AND outcome = 'deferred' AND attempt < :attempt AND taken_attempt IS NULL
ORDER BY CASE WHEN native_id = :native_id THEN 0 ELSE 1 END, number LIMIT 1

-- name: call_end_hosted
UPDATE tool_calls SET outcome = :outcome, result = :result, duration_ms = :duration_ms
WHERE number = :call AND begun_at IS NOT NULL AND outcome IS NULL

-- name: call_ended
-- The call with this name and content that the same session ran in an earlier attempt.
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE run = :run AND native_id = :native_id AND arguments_digest = :digest AND session_id = :session
  AND attempt < :attempt AND (outcome = 'ran' OR outcome = 'failed')
ORDER BY number DESC LIMIT 1

-- name: call_insert [sqlite]
INSERT INTO tool_calls (number, run, ordinal, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments,
  arguments_digest, cwd, decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at,
  channel, may_defer, hosted, project)
VALUES (:number, :run, :ordinal, :attempt, :session_id, :native_id, :parent_native_id, :native_tool, :tool,
  :arguments, :digest, :cwd, :decision, :rule, :reason, :approval, :grant, :decided_by, :answer, :now, :answered_at,
  :channel, :may_defer, :hosted, :project)
RETURNING number

-- name: call_insert [postgresql]
INSERT INTO tool_calls (number, call_id, tool_run_id, approval_id, run, ordinal, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments,
  arguments_digest, cwd, decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at,
  channel, may_defer, hosted, project)
VALUES (:number, 'TC-' || :number::bigint, 'TR-' || :run::bigint, 'AP-' || :approval::bigint, :run, :ordinal, :attempt, :session_id, :native_id, :parent_native_id, :native_tool, :tool,
  :arguments, :digest, :cwd, :decision, :rule, :reason, :approval, :grant, :decided_by, :answer, :now, :answered_at,
  :channel, :may_defer, :hosted, :project)

-- name: call_load
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls WHERE number = :call

-- name: call_named
-- The newest call with the agent's own id.
SELECT number FROM tool_calls WHERE run = :run AND native_id = :native_id ORDER BY number DESC LIMIT 1

-- name: call_of_approval
SELECT number FROM tool_calls WHERE approval = :approval

-- name: call_ordinal
SELECT COALESCE(MAX(ordinal), 0) FROM tool_calls WHERE run = :run

-- name: call_report
UPDATE tool_calls SET outcome = :outcome, result_digest = :digest, result_bytes = :bytes, duration_ms = :duration_ms
WHERE number = :call AND (outcome IS NULL OR outcome = 'deferred' OR outcome = 'denied' OR outcome = 'withdrawn')

-- name: call_run
SELECT run FROM tool_calls WHERE number = :call

-- name: call_same
-- The call with this name and content that the attempt has made.
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE run = :run AND native_id = :native_id AND arguments_digest = :digest AND attempt = :attempt
ORDER BY number DESC LIMIT 1

-- name: call_take
UPDATE tool_calls SET taken_attempt = :attempt, outcome = :outcome, reason = COALESCE(:reason, reason)
WHERE number = :call AND answer IS NOT NULL AND taken_attempt IS NULL AND attempt = :attempt AND outcome IS NULL

-- name: call_withdraw
UPDATE tool_calls SET outcome = 'withdrawn', answer = COALESCE(answer, 'deny'),
  answered_at = COALESCE(answered_at, :now), reason = COALESCE(reason, :reason)
WHERE number = :call AND taken_attempt IS NULL AND (outcome IS NULL OR outcome = 'deferred')

-- name: calls_deferred
-- How many calls of the run's last attempt are deferred and wait, and how many are answered.
SELECT COALESCE(SUM(CASE WHEN c.answer IS NULL THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN c.answer IS NULL THEN 0 ELSE 1 END), 0)
FROM tool_calls c JOIN tool_runs r ON r.number = c.run
WHERE c.run = :run AND c.outcome = 'deferred' AND c.attempt = r.attempt

-- name: calls_left_deferred
UPDATE tool_calls SET outcome = 'deferred'
WHERE run = :run AND outcome IS NULL AND attempt = :attempt AND taken_attempt IS NULL

-- name: calls_left_lost
-- The answer was used and no result arrived: the call may have run.
UPDATE tool_calls SET outcome = 'lost' WHERE run = :run AND outcome IS NULL AND taken_attempt IS NOT NULL

-- name: calls_list [sqlite]
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls WHERE number < :before AND (:project IS NULL OR project = :project) ORDER BY number DESC LIMIT :most

-- name: calls_list [postgresql]
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE number < :before AND (:project::text IS NULL OR project = :project::text) ORDER BY number DESC LIMIT :most

-- name: calls_list_after [sqlite]
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE number > :after AND number < :before AND (:project IS NULL OR project = :project) ORDER BY number LIMIT :most

-- name: calls_list_after [postgresql]
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE number > :after AND number < :before AND (:project::text IS NULL OR project = :project::text)
ORDER BY number LIMIT :most

-- name: calls_list_of_run
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE run = :run AND ordinal < COALESCE((SELECT b.ordinal FROM tool_calls b WHERE b.number = :before), 100001)
ORDER BY ordinal DESC LIMIT :most

-- name: calls_list_of_run_after
SELECT number, run, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, outcome, result_digest,
  result_bytes, duration_ms, channel, project, may_defer, hosted, begun_at, result, child_run, taken_attempt
FROM tool_calls
WHERE run = :run AND ordinal > COALESCE((SELECT a.ordinal FROM tool_calls a WHERE a.number = :after), 0)
  AND ordinal < COALESCE((SELECT b.ordinal FROM tool_calls b WHERE b.number = :before), 100001)
ORDER BY ordinal LIMIT :most

-- name: calls_open
-- The calls of the run whose answer was not used.
SELECT number, attempt, answer, approval FROM tool_calls
WHERE run = :run AND (outcome IS NULL OR outcome = 'deferred') AND taken_attempt IS NULL ORDER BY number

-- name: calls_released
-- Runs that ended while their calls waited, none of which waits any more; only those whose launch file is on this host.
SELECT r.number FROM tool_runs r
WHERE r.status = 'waiting_approval'
  AND EXISTS (SELECT 1 FROM run_attempts a WHERE a.run = r.number AND a.attempt = r.attempt AND a.state = 'ended'
    AND a.host = :host)
  AND EXISTS (SELECT 1 FROM tool_calls c WHERE c.run = r.number AND c.outcome = 'deferred' AND c.attempt = r.attempt
    AND c.answer IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM tool_calls c WHERE c.run = r.number AND c.answer IS NULL AND c.attempt = r.attempt)
  AND NOT EXISTS (SELECT 1 FROM approvals p WHERE p.run = r.number AND p.kind = 'question' AND p.attempt = r.attempt
    AND (p.status = 'pending' OR p.settled = 0 OR (p.status = 'approved' AND p.use = 'unused')))
ORDER BY r.number LIMIT :most

-- name: calls_waiting
SELECT COUNT(*) FROM tool_calls WHERE run = :run AND answer IS NULL AND attempt = :attempt

-- name: calls_waiting_for
-- The approvals that the calls of an attempt wait for.
SELECT approval FROM tool_calls
WHERE run = :run AND answer IS NULL AND attempt = :attempt AND approval IS NOT NULL ORDER BY number
