-- name: approval_decide
UPDATE approvals SET status = :status, chosen_value = :chosen_value, answer = :answer, comment = :comment,
  decided_by = :decided_by, decided_at = :now, settled = 1
WHERE number = :approval AND status = 'pending'

-- name: approval_insert [sqlite]
INSERT INTO approvals (number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, digest, attempt, created_at, expires_at, delivery, prompt, secret, advisory, remind_at,
  risk, risk_reasons, context, asked_by, project)
VALUES (:number, :kind, :run, :execution, :node, :node_id, :iteration, :agent, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, 'pending', :digest, :attempt, :now, :expires_at, :delivery, :prompt, :secret, :advisory, :remind_at,
  :risk, :risk_reasons, :context, :asked_by,
  COALESCE((SELECT project FROM tool_runs WHERE number = :run), (SELECT project FROM executions WHERE number = :execution),
    :project))
RETURNING number

-- name: approval_insert [postgresql]
INSERT INTO approvals (number, approval_id, tool_run_id, execution_id, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, digest, attempt, created_at, expires_at, delivery, prompt, secret, advisory, remind_at,
  risk, risk_reasons, context, asked_by, project)
VALUES (:number, 'AP-' || :number::bigint, 'TR-' || :run::bigint, 'EX-' || :execution::bigint,
  :kind, :run, :execution, :node, :node_id, :iteration, :agent, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, 'pending', :digest, :attempt, :now, :expires_at, :delivery, :prompt, :secret, :advisory, :remind_at,
  :risk, :risk_reasons, :context, :asked_by,
  COALESCE((SELECT r.project FROM tool_runs r WHERE r.number = :run::bigint),
    (SELECT e.project FROM executions e WHERE e.number = :execution::bigint), :project::text))

-- name: approval_last
-- The last plain question of the run; its tool calls are answered one by one.
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE run = :run AND kind = 'question' ORDER BY number DESC LIMIT 1

-- name: approval_load
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE number = :approval

-- name: approval_lock [sqlite]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE number = :approval

-- name: approval_lock [postgresql]
-- Never waits: another session may hold a direct update open for hours.
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE number = :approval FOR NO KEY UPDATE SKIP LOCKED

-- name: approval_of_apply
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE execution = :execution AND run IS NULL AND node IS NULL AND delivery = 'apply'
ORDER BY number DESC LIMIT 1

-- name: approval_of_attempt
-- The attempt's last question that is answered by a restart or over its socket.
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE run = :run AND attempt = :attempt AND kind = 'question' AND (delivery = 'rerun' OR delivery = 'live')
ORDER BY number DESC LIMIT 1

-- name: approval_of_reference
-- The question that a program outside of runs asked under this name of its own.
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE asked_by = :asked_by AND tool_ref = :reference

-- name: approval_project
SELECT project FROM approvals WHERE number = :approval

-- name: approval_reminded
UPDATE approvals SET remind_at = :next WHERE number = :approval AND remind_at IS NOT NULL

-- name: approval_reopen
-- Reverts an invalid direct SQL update.
UPDATE approvals SET status = 'pending', chosen_value = NULL, answer = NULL, decided_by = NULL, decided_at = NULL
WHERE number = :approval AND status = :status AND settled = 0

-- name: approval_settle
-- Settles a valid direct SQL update.
UPDATE approvals SET chosen_value = :chosen_value, decided_by = :decided_by, decided_at = :decided_at,
  settled = 1
WHERE number = :approval AND status = :status AND settled = 0

-- name: approval_shift
UPDATE approvals SET expires_at = :expires_at, remind_at = :remind_at WHERE number = :approval AND status = 'pending'

-- name: approval_unreminded
SELECT 1 FROM approvals WHERE number = :approval AND status = 'pending' AND remind_at <= :now

-- name: approval_use
UPDATE approvals SET use = :use WHERE number = :approval AND status = 'approved' AND use = 'unused'

-- name: approvals_counted
SELECT (SELECT COUNT(*) FROM approvals WHERE status = 'pending'),
  (SELECT created_at FROM approvals WHERE status = 'pending' ORDER BY number LIMIT 1)

-- name: approvals_granted
-- Granted, but the next attempt has not been created; only runs whose launch file is on this host.
SELECT number, run FROM approvals
WHERE status = 'approved' AND use = 'unused' AND settled = 1 AND kind = 'question'
  AND (delivery = 'rerun' OR delivery = 'live')
  AND EXISTS (SELECT 1 FROM tool_runs WHERE tool_runs.number = approvals.run AND tool_runs.status = 'waiting_approval'
    AND tool_runs.attempt = approvals.attempt)
  AND EXISTS (SELECT 1 FROM run_attempts WHERE run_attempts.run = approvals.run
    AND run_attempts.attempt = approvals.attempt AND run_attempts.state = 'ended' AND run_attempts.host = :host)
ORDER BY number LIMIT :most

-- name: approvals_granted_of_run
SELECT number FROM approvals WHERE run = :run AND status = 'approved' AND use = 'unused' AND settled = 1 ORDER BY number

-- name: approvals_list [sqlite]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
  AND (:project IS NULL OR project = :project)
ORDER BY number DESC LIMIT :most

-- name: approvals_list [postgresql]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE number < :before AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
  AND (:project::text IS NULL OR project = :project::text)
ORDER BY number DESC LIMIT :most

-- name: approvals_list_of_run [sqlite]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE run = :run AND number < :before AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY number DESC LIMIT :most

-- name: approvals_list_of_run [postgresql]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE run = :run AND number < :before
  AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY number DESC LIMIT :most

-- name: approvals_next_expiry
SELECT MIN(expires_at) FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL

-- name: approvals_next_reminder
SELECT MIN(remind_at) FROM approvals WHERE status = 'pending' AND remind_at IS NOT NULL

-- name: approvals_of_execution
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE execution = :execution ORDER BY number

-- name: approvals_of_run
SELECT number FROM approvals WHERE run = :run AND status = 'pending' ORDER BY number

-- name: approvals_of_run_all
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE run = :run AND (COALESCE(:kind, '') = '' OR CAST(kind AS text) = :kind) ORDER BY number DESC LIMIT :most

-- name: approvals_outside
SELECT number FROM approvals WHERE settled = 0 AND status <> 'pending' ORDER BY number LIMIT :most

-- name: approvals_overdue
SELECT number FROM approvals
WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now ORDER BY expires_at, number LIMIT :most

-- name: approvals_pending [sqlite]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE status = 'pending' AND number > :after AND (:project IS NULL OR project = :project)
ORDER BY number LIMIT :most

-- name: approvals_pending [postgresql]
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals
WHERE status = 'pending' AND number > :after AND (:project::text IS NULL OR project = :project::text)
ORDER BY number LIMIT :most

-- name: approvals_pending_of_run
SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory, answer, project, risk, risk_reasons, context, asked_by
FROM approvals WHERE run = :run AND status = 'pending' AND number > :after ORDER BY number LIMIT :most

-- name: approvals_timed
SELECT number, expires_at, remind_at FROM approvals
WHERE status = 'pending' AND expires_at IS NOT NULL AND number > :after ORDER BY number LIMIT :most

-- name: approvals_to_apply
-- Granted and unused, for executions whose branch is on this host.
SELECT number, execution FROM approvals
WHERE status = 'approved' AND use = 'unused' AND settled = 1 AND delivery = 'apply'
  AND EXISTS (SELECT 1 FROM branches WHERE branches.root = approvals.execution AND branches.host = :host)
ORDER BY number LIMIT :most

-- name: approvals_to_remind
SELECT number FROM approvals
WHERE status = 'pending' AND remind_at IS NOT NULL AND remind_at <= :now ORDER BY remind_at, number LIMIT :most

-- name: questions_of_asker
-- The open questions of a program outside of runs, at most `most`.
SELECT number FROM approvals WHERE asked_by = :asked_by AND status = 'pending' LIMIT :most

-- name: questions_of_run
-- The open plain questions of the run; tool calls may wait in parallel (APR-9).
SELECT number FROM approvals WHERE run = :run AND status = 'pending' AND kind <> 'tool_call'

-- name: questions_unsettled_of_run
-- Plain questions of the attempt that keep the run waiting, or that it will start on.
SELECT number FROM approvals
WHERE run = :run AND kind <> 'tool_call'
  AND (status = 'pending' OR settled = 0
    OR (:with_granted = 1 AND status = 'approved' AND use = 'unused' AND attempt = :attempt
      AND (delivery = 'rerun' OR delivery = 'live')))
